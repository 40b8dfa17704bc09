// Package git runs the git command, and is the only package that does.
//
// A repository is hostile: its configuration, hooks and attributes name programs
// that git runs, and a partial clone makes git fetch when it reads. So git never
// works in a repository that somebody else made. It works in a repository that
// Ladder makes in a temporary folder: an empty configuration, no hooks, no
// attributes, and links to what the other repository keeps as plain data, which
// are the objects, the references and the index. Nothing else of the other
// repository is ever read, whatever it holds.
//
// git runs with an environment of its own too: no variable of the caller, no
// configuration of the user or the machine, and no transport.
package git
