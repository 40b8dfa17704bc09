// Package settings holds what a rehearsal tells the simulated world: how fast
// time passes, the seed, and how each component behaves. It travels as JSON in
// the ConfigMap ladder-system/simulation of the plane, so that a rehearsal can
// set it on a plane that already runs.
package settings
