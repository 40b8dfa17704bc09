package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// formatVersion is the version of the files in a folder.
const formatVersion = "1"

const (
	snapshotFile  = "snapshot.json"
	journalPrefix = "journal-"
	journalSuffix = ".jsonl"
)

// Saved is what a store holds: a snapshot and the records after it.
type Saved struct {
	Snapshot json.RawMessage // nil when nothing was saved yet
	Records  []json.RawMessage
}

// Folder is a store in a folder. It is not safe for concurrent use.
type Folder struct {
	dir     string
	lock    *lock
	journal *os.File
	// generation is the number of the snapshot that the journal belongs to.
	generation int
	durable    bool
}

// Options changes how a Folder works.
type Options struct {
	// Volatile leaves out the calls that make data survive a crash of the
	// machine; a crash of the process is survived all the same. For rehearsals.
	Volatile bool
	// Owner names the run in the message that a second run gets.
	Owner string
	// Now is the clock that the lock is stamped with; nil means the system's.
	Now func() time.Time
}

// envelope is the format of the snapshot file.
type envelope struct {
	FormatVersion string          `json:"formatVersion"`
	Generation    int             `json:"generation"`
	Checksum      string          `json:"checksum"`
	State         json.RawMessage `json:"state"`
}

// Open locks a folder, making it if it is not there. It returns a *LockedError
// when another process holds it.
func Open(dir string, options Options) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	l, err := acquire(filepath.Join(dir, "lock"), options.Owner, options.Now())
	if err != nil {
		return nil, err
	}
	return &Folder{dir: dir, lock: l, durable: !options.Volatile}, nil
}

// Load reads what was saved and opens the journal for more.
func (f *Folder) Load() (Saved, error) {
	var saved Saved
	e, err := readSnapshot(f.dir)
	if err != nil || e == nil {
		return saved, err
	}
	saved.Snapshot, f.generation = e.State, e.Generation
	saved.Records, err = f.openJournal()
	if err != nil {
		return Saved{}, err
	}
	f.removeOldJournals()
	return saved, nil
}

// readSnapshot reads the snapshot of a folder; nil where nothing was saved yet.
func readSnapshot(dir string) (*envelope, error) {
	path := filepath.Join(dir, snapshotFile)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read state: %w", err)
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("read state %s: %w", path, err)
	}
	if e.FormatVersion != formatVersion {
		return nil, fmt.Errorf("state in %s has format version %q, not %q", dir, e.FormatVersion, formatVersion)
	}
	if checksum(e.State) != e.Checksum {
		return nil, fmt.Errorf("state in %s is damaged: checksum differs", dir)
	}
	return &e, nil
}

// Append adds records to the journal and returns when they are safe. The
// records of one call are written together.
func (f *Folder) Append(records ...json.RawMessage) error {
	if len(records) == 0 {
		return nil
	}
	if f.journal == nil {
		return errors.New("append to state: there is no snapshot to append to")
	}
	var buf bytes.Buffer
	for _, r := range records {
		var line bytes.Buffer // compact JSON holds no line break
		if err := json.Compact(&line, r); err != nil {
			return fmt.Errorf("append to state: record is not JSON: %w", err)
		}
		fmt.Fprintf(&buf, "%s %s\n", checksum(line.Bytes()), line.Bytes())
	}
	if _, err := f.journal.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("append to state: %w", err)
	}
	if f.durable {
		if err := f.journal.Sync(); err != nil {
			return fmt.Errorf("append to state: %w", err)
		}
	}
	return nil
}

// Snapshot replaces everything saved by one state and starts a new journal.
func (f *Folder) Snapshot(state json.RawMessage) error {
	next := f.generation + 1
	// The journal of the next snapshot is there, empty, before the snapshot
	// names it; a crash in between leaves the old pair in force.
	journal, err := os.OpenFile(f.journalPath(next), os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	compact := bytes.NewBuffer(nil)
	if err := json.Compact(compact, state); err != nil {
		_ = journal.Close()
		return fmt.Errorf("save state: %w", err)
	}
	data, err := json.Marshal(envelope{formatVersion, next, checksum(compact.Bytes()), compact.Bytes()})
	if err == nil {
		err = f.replace(filepath.Join(f.dir, snapshotFile), append(data, '\n'))
	}
	if err != nil {
		_ = journal.Close()
		return fmt.Errorf("save state: %w", err)
	}
	if f.journal != nil {
		_ = f.journal.Close() // nothing of it is needed any more
	}
	f.journal, f.generation = journal, next
	f.removeOldJournals()
	return nil
}

// Close releases the folder.
func (f *Folder) Close() error {
	var err error
	if f.journal != nil {
		err = f.journal.Close()
		f.journal = nil
	}
	return errors.Join(err, f.lock.release())
}

// replace writes a file by rename.
func (f *Folder) replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(f.dir, ".snapshot-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone after the rename
	if _, err = tmp.Write(data); err == nil && f.durable {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	if !f.durable {
		return nil
	}
	d, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *Folder) journalPath(generation int) string {
	return filepath.Join(f.dir, journalPrefix+strconv.Itoa(generation)+journalSuffix)
}

// openJournal reads the journal of the snapshot, cuts off a torn tail, and
// leaves the file open at its end.
func (f *Folder) openJournal() ([]json.RawMessage, error) {
	path := f.journalPath(f.generation)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read state: %w", err), file.Close())
	}
	records, good, err := parseJournal(data)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read state %s: %w", path, err), file.Close())
	}
	if good < len(data) {
		if err := file.Truncate(int64(good)); err != nil {
			return nil, errors.Join(fmt.Errorf("read state: cut torn record: %w", err), file.Close())
		}
	}
	f.journal = file
	return records, nil
}

// parseJournal returns the records and how many bytes of the data are whole
// lines. Only the last line may be damaged: it was being written when the
// process or the machine went down.
func parseJournal(data []byte) (records []json.RawMessage, good int, err error) {
	for number := 1; good < len(data); number++ {
		line, rest, whole := bytes.Cut(data[good:], []byte("\n"))
		sum, record, ok := bytes.Cut(line, []byte(" "))
		if whole && ok && checksum(record) == string(sum) && json.Valid(record) {
			records = append(records, json.RawMessage(bytes.Clone(record)))
			good += len(line) + 1
			continue
		}
		if !whole || len(rest) == 0 {
			return records, good, nil
		}
		return nil, 0, fmt.Errorf("line %d is damaged", number)
	}
	return records, good, nil
}

func checksum(data []byte) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(data))
}

// removeOldJournals drops the journals of other snapshots. What cannot be
// removed is only clutter.
func (f *Folder) removeOldJournals() {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		n, isJournal := strings.CutPrefix(e.Name(), journalPrefix)
		if isJournal && n != strconv.Itoa(f.generation)+journalSuffix {
			_ = os.Remove(filepath.Join(f.dir, e.Name()))
		}
	}
}
