package early

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// uncollected is how much memory the runtime may take before it collects garbage
// for the first time, in bytes.
const uncollected = 160 << 20

// collectLate puts off the first garbage collection: the tables that the packages of
// Kubernetes make at the start of a process are megabytes already, most commands end
// before they have made much more, and a collection is a third of their work. From then
// on it is as without; GOGC and GOMEMLIMIT of the environment stay in force.
func collectLate() {
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
