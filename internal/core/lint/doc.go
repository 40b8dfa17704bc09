// Package lint proves the order of a platform, or shows where it is wrong.
//
// A rule is a value: its id, its documentation and a function from Input to
// findings, in a file of its own; rules.go lists them. Rules never look outside
// Input, so that the same input gives the same findings. What could not be
// rendered is never called clean: rules that conclude from something missing
// stay silent while a component that might provide it is not rendered.
//
// The package is part of the core: standard library only.
package lint
