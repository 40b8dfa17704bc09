package collect

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// uncollected is how much memory the runtime may take before it collects garbage
// for the first time, in bytes.
const uncollected = 160 << 20

// The tables that the packages of Kubernetes make at the start of a process are
// megabytes already. Packages that depend on nothing else are initialised in the
// order of their paths, so that this one comes before those. Source: The Go
// Programming Language Specification, "Program initialization".
func init() { late() }

// late puts off the first collection. From then on it is as without; GOGC and
// GOMEMLIMIT of the environment stay in force.
func late() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	percent := debug.SetGCPercent(-1)
	debug.SetMemoryLimit(uncollected)
	// What nothing refers to goes with the first collection.
	runtime.AddCleanup(new([16]byte), func(percent int) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, percent)
}
