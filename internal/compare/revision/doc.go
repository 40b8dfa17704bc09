// Package revision reads revisions of a Git repository into folders of their
// own, without touching its work tree, its index or its list of work trees.
//
// It asks the git command, which reads what git wrote whatever the format of the
// repository: packs, alternates, partial and shallow clones, linked work trees.
// The files of a revision are what a checkout would write, with the same line
// ends and filters, so that they compare with the work tree.
package revision
