// Package regular reads regular files of a bounded size, many of them quickly.
package regular
