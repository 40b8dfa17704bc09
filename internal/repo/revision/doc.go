// Package revision reads revisions of a Git repository into folders of their
// own, without touching its work tree, its index or its list of work trees.
//
// The files of a revision are those that were committed: attributes and
// configuration of the repository neither filter them nor change line ends.
package revision
