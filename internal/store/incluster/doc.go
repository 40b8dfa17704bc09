// Package incluster keeps the state of a rollout in the cluster that it rolls
// out to, so that a run killed at any moment can be taken up again on any
// machine, and keeps two runs from working on one rollout.
//
// Everything is in the namespace ladder-system. A rollout named <name> (see Key)
// has
//
//	Lease      ladder-rollout-<name>              who runs it now
//	ConfigMap  ladder-rollout-<name>              the head: which generation counts
//	ConfigMap  ladder-rollout-<name>-<gen>-s<i>   a part of the snapshot
//	ConfigMap  ladder-rollout-<name>-<gen>-j<i>   a part of the journal after it
//	ConfigMap  ladder-rollout-<name>-requests     what people ask of the run
//	ConfigMap  ladder-history-<name>-<time>       the report of a rollout that ended
//
// # What a crash leaves
//
// A generation is a snapshot and the journal after it; its name has a random
// part, so that no two runs write the same objects. The parts of a new snapshot
// are complete before the head names them, and the old generation is deleted
// after that. The head is written with the resource version that was read:
// whoever lost the lease without knowing cannot write it any more, and finds the
// parts of its generation gone. What no head names was torn by a crash and is
// ignored. A write that the API server did not answer is repeated; every
// object and key is written once, so repeating does no harm.
//
// Nothing but what package executor writes is in the state: names, statuses and
// messages, never the content of objects.
package incluster
