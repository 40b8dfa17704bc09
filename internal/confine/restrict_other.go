//go:build !linux

package confine

import "runtime"

// restrict confines the process as far as the system can: not at all. The limits
// that the parent watches hold all the same.
func restrict(Mode) Confinement {
	return Confinement{Lacking: []string{"Landlock and seccomp: " + runtime.GOOS + " has none"}}
}
