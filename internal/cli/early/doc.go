// Package early does what a process that imports it gains time by when it is done
// before the packages of Kubernetes are initialised, which takes longer than most
// commands.
//
// Packages that depend on nothing else are initialised in the order of their paths, so
// that this one comes before those. Source: The Go Programming Language Specification,
// "Program initialization".
package early

import "os"

func init() {
	startWorker(os.Args)
	collectLate(os.Args)
}
