// Package bounded keeps small what the templates of a repository make: the texts
// and lists that functions return, and the loops that make much of little. What
// goes over a limit is an error of the template, never a process out of memory.
package bounded
