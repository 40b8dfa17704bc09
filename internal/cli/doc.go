// Package cli is the ladder command: it parses arguments into structs, calls
// the packages that do the work, and turns their results into output and an
// exit code. One sub-package per command.
package cli
