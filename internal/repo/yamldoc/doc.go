// Package yamldoc reads YAML in which every value knows its file and line.
//
// It refuses what a repository must not contain: duplicate keys, aliases that
// expand to a multiple of the document (the "billion laughs"), aliases that
// contain themselves, documents that are too large or too deep. Refusals are
// *repofs.InputError values with file and line.
package yamldoc
