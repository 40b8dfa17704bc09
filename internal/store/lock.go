package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Holder says who holds a lock.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Owner   string    `json:"owner,omitempty"`
}

// String is the holder for people.
func (h Holder) String() string {
	if h.PID < 0 {
		return h.Host // no run of Ladder, but somebody
	}
	who := fmt.Sprintf("process %d on %s, started %s", h.PID, h.Host, h.Started.Format(time.RFC3339))
	if h.Owner != "" {
		who += " (" + h.Owner + ")"
	}
	return who
}

// LockedError means that another process runs the rollout.
type LockedError struct {
	// Path is what is locked: a file, or a rollout on a cluster.
	Path   string
	Holder Holder
	// FreeAt is when the lock ends if its holder is gone; zero for a lock that ends
	// with its holder.
	FreeAt time.Time
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another run holds %s", e.Path)
	}
	message := fmt.Sprintf("another run holds %s: %s", e.Path, e.Holder)
	if !e.FreeAt.IsZero() {
		message += fmt.Sprintf("; if that is gone, the lock ends at %s", e.FreeAt.UTC().Format("15:04:05 MST"))
	}
	return message
}

type lock struct{ file *os.File }

// acquire takes the lock of the operating system on a file: it ends with the
// process, so no stale lock is ever left behind. What the file says is only
// for people.
func acquire(path, owner string, now time.Time) (*lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state: %w", err)
	}
	err = flock(file, unix.LOCK_EX)
	for i := 0; i < looks && errors.Is(err, unix.EWOULDBLOCK) && flock(file, unix.LOCK_SH) == nil; i++ {
		// A shared lock is granted beside no other holder than who only looks, for a moment.
		_ = flock(file, unix.LOCK_UN)
		time.Sleep(time.Millisecond)
		err = flock(file, unix.LOCK_EX)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		locked := &LockedError{Path: path}
		if data, err := io.ReadAll(file); err == nil {
			// A holder that has not written its name yet stays unnamed.
			_ = json.Unmarshal(data, &locked.Holder)
		}
		_ = file.Close()
		return nil, locked
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock state %s: %w", path, err), file.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	data, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Started: now.UTC().Truncate(time.Second), Owner: owner})
	if err == nil {
		err = errors.Join(file.Truncate(0), writeAt(file, append(data, '\n')))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock state %s: %w", path, err), file.Close())
	}
	return &lock{file}, nil
}

// looks is how often a lock is tried again that only lookers hold.
const looks = 2000

// flock takes or gives up the lock of a file, without waiting.
func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func writeAt(file *os.File, data []byte) error {
	_, err := file.WriteAt(data, 0)
	return err
}

// release gives the lock up. The file stays: removing it would let a process
// lock a file that is no longer there.
func (l *lock) release() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Truncate(0), l.file.Close())
	l.file = nil
	return err
}
