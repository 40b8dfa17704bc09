// Package child is the protocol between the process that wants a plane and the
// process that is one.
//
// The parent starts its own executable as `ladder plane run` with Options as
// arguments. The child writes one Message, a line of JSON, to standard output
// when it is ready or has failed, and closes it. It ends when its standard input
// ends (unless it is kept), when it gets SIGTERM, or when a part of the control
// plane fails; logs go to standard error and to the log file of its folder.
//
// The parent hands down an open, locked file (see LockFile). The lock is held as
// long as one of the two lives, whatever kills the other, so that a folder
// without a held lock is known to be left over.
package child
