// Package rehearse runs the rollout of a platform on the embedded plane: it
// reads and renders the repository, starts a plane, tells its simulated world
// how each component behaves, drives the rollout with the native engine, and
// reports. With the real Argo CD on the plane it follows what that does by itself,
// or drives the Applications as a rollout on a cluster does.
package rehearse
