//go:build !linux

package confine

import (
	"os"
	"time"
)

// usage knows nothing of other processes here. The time by the clock is watched all
// the same.
func usage(int) (cpu time.Duration, resident int64, ok bool) { return 0, 0, false }

// executable is the program that runs.
func executable() (string, error) { return os.Executable() }

// peak is not known here.
func peak(*os.ProcessState) int64 { return 0 }
