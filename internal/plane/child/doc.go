// Package child is the protocol between the process that wants a plane and the
// process that is one.
//
// The parent starts its own executable as `ladder plane run` with Options as
// arguments, in a session of its own. The child writes one Message, a line of
// JSON, to standard output when it is ready or has failed. It ends when its
// standard input ends, however its parent ended; the word Keep on standard input
// makes it stay for good. It also ends on SIGTERM and when a part of the control
// plane fails. Logs go to standard error and to the log file of its folder.
//
// The parent hands down an open, locked file (see LockFile). The lock is held as
// long as one of the two lives, whatever kills the other, so that a folder
// without a held lock is known to be left over.
package child
