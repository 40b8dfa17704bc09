// Package quiet tells whether this process, which runs a control plane or talks to
// one, has anything to do at the moment: requests under way, items in work queues,
// goroutines that could run.
//
// It counts the items of every named work queue of client-go in the process, which
// is where controllers keep what they have to do. Whoever sets the provider of the
// queues' metrics first wins: this package is initialised before the one of
// component-base, because it depends on the queues only and packages are
// initialised in the order of their import paths (The Go Programming Language
// Specification, "Program initialization").
package quiet
