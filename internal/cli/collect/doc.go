// Package collect puts off the first garbage collection of a command. Most commands
// end before they have made much, and a collection is a third of their work.
package collect
