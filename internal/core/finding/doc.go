// Package finding holds what Ladder tells a user about their repository: a
// problem with its position, severity, evidence and, where it is mechanical,
// its fix.
//
// A finding is an answer, not an error: an error means that Ladder could not
// run, a finding means that it ran and the repository is wrong. The package
// imports the standard library only.
package finding
