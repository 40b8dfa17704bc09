// Package lazyregexp has regular expressions for variables of packages, which are compiled
// when they are first used, and not in every process that links them.
package lazyregexp
