package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a lock that somebody holds is tried again.
const lockPoll = 25 * time.Millisecond

// acquire locks path for this process and for those that inherit the file,
// waiting until ctx ends. The file is made when it is missing.
func acquire(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return file, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", path, ctx.Err()), file.Close())
		case <-time.After(lockPoll):
		}
	}
}

// held tells whether a living process holds the lock at path. A shared lock is
// tried, so that two that look at once do not see each other.
func held(path string) bool {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // no pipe makes it wait
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // opened for reading
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
