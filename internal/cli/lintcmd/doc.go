// Package lintcmd is the command "ladder lint": it reads, renders and judges one
// or several environments, takes off what is suppressed or known, and reports or
// mends the rest.
package lintcmd
