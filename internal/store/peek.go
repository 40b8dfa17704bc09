package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// peeks is how often a state that is replaced meanwhile is read again.
const peeks = 5

// Peek reads what a folder holds without its lock, and who holds that: the zero Holder
// for nobody. A folder that is not there holds nothing.
func Peek(dir string) (Saved, Holder, error) {
	saved, err := peek(dir)
	for i := 1; i < peeks && errors.Is(err, fs.ErrNotExist); i++ {
		saved, err = peek(dir)
	}
	if err != nil {
		return Saved{}, Holder{}, err
	}
	return saved, holderOf(filepath.Join(dir, "lock")), nil
}

// peek reads the snapshot and its journal. The journal is gone where another snapshot
// has taken the place of the one that was read.
func peek(dir string) (Saved, error) {
	e, err := readSnapshot(dir)
	if err != nil || e == nil {
		return Saved{}, err
	}
	path := filepath.Join(dir, journalPrefix+strconv.Itoa(e.Generation)+journalSuffix)
	data, err := os.ReadFile(path)
	if err != nil {
		return Saved{}, fmt.Errorf("read state: %w", err)
	}
	records, _, err := parseJournal(data)
	if err != nil {
		return Saved{}, fmt.Errorf("read state %s: %w", path, err)
	}
	return Saved{Snapshot: e.State, Records: records}, nil
}

// holderOf says who holds a lock. It holds a shared one for a moment, which acquire does not take for
// a holder.
func holderOf(path string) Holder {
	file, err := os.Open(path)
	if err != nil {
		return Holder{}
	}
	defer file.Close() //nolint:errcheck // opened for reading
	var h Holder
	if json.NewDecoder(file).Decode(&h) != nil || !errors.Is(flock(file, unix.LOCK_SH), unix.EWOULDBLOCK) {
		return Holder{}
	}
	return h
}
