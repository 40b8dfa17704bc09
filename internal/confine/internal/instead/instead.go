// Package instead names the program of workers in tests. It is out of reach for all but
// package confine, which reads it, and package confinetest, which writes it in a test.
package instead

// Program returns what is started as a worker instead of the running program; nil in every
// program but a test.
var Program func() (string, error)
