// Package progress shows a long run on stderr: an inline block on a terminal,
// one line per change elsewhere, JSON lines for machines, or nothing.
package progress
