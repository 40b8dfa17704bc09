// Package confine runs what a repository can make Turing-complete or huge in a
// worker: a child process of the same binary that can do nothing but compute.
//
// A worker opens no file, no connection and no program. It has an empty
// environment, a limit on its memory, and, where the kernel has them, a Landlock
// domain without any right and a seccomp filter that lets through what the Go
// runtime needs and refuses the rest. Everything that it reads comes through a
// pipe: the parent sends a call, the worker may ask the parent for more (files,
// mostly), and answers. The parent watches the time and memory of every call and
// kills a worker that takes too much, so that a bad call ends as a LimitError and
// the next call gets a new worker.
//
// The package knows nothing of what is computed: Serve takes the methods (package
// worker), Pool calls them (package evaluate).
package confine
