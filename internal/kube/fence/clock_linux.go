package fence

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot is the Clock of this machine: CLOCK_BOOTTIME, which runs while the machine
// sleeps, and which nobody sets. Source: clock_getres(2).
func SinceBoot() time.Duration { return read(unix.CLOCK_BOOTTIME) }
