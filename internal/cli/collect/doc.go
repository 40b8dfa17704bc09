// Package collect puts off the first garbage collection of a process that imports
// it. Most commands end before they have made much, and a collection is a third of
// their work.
package collect
