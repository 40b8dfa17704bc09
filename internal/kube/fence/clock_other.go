//go:build !linux

package fence

import (
	"time"

	"golang.org/x/sys/unix"
)

// SinceBoot is the Clock of this machine: CLOCK_MONOTONIC, which nobody sets. On macOS
// it runs while the machine sleeps, unlike the clock that Go measures time with. On
// other systems it may stand still then: a run on such a machine that sleeps can write
// for as long as its lease lasts after it wakes up. Source: clock_gettime(3) of macOS.
func SinceBoot() time.Duration { return read(unix.CLOCK_MONOTONIC) }
