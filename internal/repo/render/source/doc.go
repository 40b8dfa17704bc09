// Package source is the renderers' only way to the files of a repository. It
// keeps every read inside the repository, with symbolic links resolved, bounds
// the size of files, and records what was read so that a cached result can be
// checked against the files it was made from.
package source
