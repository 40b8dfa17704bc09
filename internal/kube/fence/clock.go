package fence

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells how long ago some moment was. It must not stand still while the process
// is stopped, nor jump.
type Clock func() time.Duration

func read(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		// No system that Ladder runs on lacks the clock. That of the wall runs always too.
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(t.Nano())
}
