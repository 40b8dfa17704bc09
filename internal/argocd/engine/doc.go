// Package engine is the engine that leaves applying to Argo CD: it starts one
// sync operation of one existing Application at a time, pinned to the revision of
// the rollout, and takes health from package status.
//
// # What it writes
//
// To start a sync it writes what Argo CD's own API server writes: the field
// operation, with status.operationState cleared, under the resourceVersion that
// it has seen, so that an operation of somebody else is never overwritten: it is
// waited for. The operation carries the name of the run, so that after a crash
// the next process recognises it and does not start it twice; one of an earlier
// run, or of another revision, is terminated first. Source: argo-cd v3.2,
// util/argo SetAppOperation and server/application Sync.
//
// # Automated sync
//
// The controller syncs an automated Application to the head of its
// targetRevision whenever that differs from the live objects, whatever revision
// was synced last: the refusal of `argocd app sync --revision` is a rule of the
// API server alone. An automated Application that waits for its turn would
// therefore not wait, and one that was synced to a pinned revision would go on.
// Prepare takes spec.syncPolicy.automated away and writes what it was into an
// annotation, in one patch; Release puts it back, in one patch. An Application
// whose sources are all fixed (this revision, exact versions) cannot go on: it
// gets it back as soon as it is synced, and keeps it if it is synced already.
//
// Where the change would be undone (by an ApplicationSet without
// ignoreApplicationDifferences, by a parent Application that heals itself) or the
// order is another's (RollingSync), Prepare refuses and says the way out.
package engine
