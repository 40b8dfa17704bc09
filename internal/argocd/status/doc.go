// Package status watches the Applications and ApplicationSets of Argo CD and
// says how healthy each component is at the revision of a rollout, and why it is
// not.
//
// Judge and Explain are pure: an Application as Argo CD wrote it gives a
// judgement, so that the rules are tested on objects alone. Watcher feeds them
// from one watch of each kind: an event costs what it changes, and while nothing
// changes nothing runs but the renewal of the watches.
//
// # Healthy at a revision
//
// status.health says how healthy the objects are that are live, whatever revision
// they come from; it stays as it was until the controller compares again. An
// Application counts as Healthy at a revision only when
//
//   - it was compared with the spec that it has now: status.sync.comparedTo is
//     its source or sources, destination and ignored differences (a change of the
//     spec alone, with no commit, leaves an old status behind);
//   - no operation runs, waits for a retry or is asked for, and the last one
//     succeeded;
//   - the sources of the rollout's repository are at the revision, and the
//     comparison says Synced; or the last operation applied that very revision of
//     that very spec, and a comparison began after it ended (its branch has moved
//     on meanwhile, so that Argo CD compares with something newer);
//   - status.health is Healthy.
//
// Sources of other repositories and charts have versions of their own: for them
// the comparison with the spec is what counts. Source for what Argo CD writes
// when: argo-cd v3.2, controller/appcontroller.go and controller/sync.go.
package status
