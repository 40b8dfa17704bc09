// Package executor runs a rollout: it feeds the pure state machine of package
// rollout with what an Engine observes, persists every transition before it
// acts on it, and carries out the effects.
//
// The command line, the rehearsal and the in-cluster controller all use it, so
// what is rehearsed is what runs.
package executor
