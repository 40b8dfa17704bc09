// Package store keeps the state of a rollout so that a run killed at any moment
// can be taken up again, and keeps two runs from working on one rollout.
//
// A folder holds
//
//	lock             who runs the rollout now; locked by the operating system,
//	                 so the lock ends with the process, however it ends
//	snapshot.json    the whole state at one moment, replaced by rename
//	journal-N.jsonl  what changed since snapshot N, one record per line
//
// Every line of the journal carries a checksum. A last line that was torn by a
// crash is dropped; damage anywhere else is an error. The store does not look
// into what it keeps; package executor writes rollout states, which hold names,
// statuses and messages, never the content of objects.
package store
