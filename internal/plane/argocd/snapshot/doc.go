// Package snapshot makes a Git repository with one commit of a work tree as it
// is: what is tracked and what is not ignored, whether it is committed or not,
// with files added and with the addresses under which the repository is known
// replaced by that of the snapshot. Argo CD reads it through a file:// address.
//
// It needs the command git, and leaves the repository itself alone. A symbolic
// link that leads out of the tree is left out, never followed.
package snapshot
