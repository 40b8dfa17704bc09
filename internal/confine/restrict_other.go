//go:build !linux

package confine

import (
	"runtime"
	"runtime/debug"
)

const softHeap = 640 << 20 // bytes, from here on the collector works harder

// restrict confines the process as far as the system can: not at all. The limits
// that the parent watches hold all the same.
func restrict(Mode) Confinement {
	debug.SetMemoryLimit(softHeap)
	return Confinement{Lacking: []string{"Landlock and seccomp: " + runtime.GOOS + " has none"}}
}
