// Package rollout is the state machine of a rollout: Step(state, event, now)
// returns the next state and the effects to carry out.
//
// It is pure and deterministic: standard library only, no clock, no I/O, no
// goroutines. Package drive carries out the effects and feeds back what it
// observes; the simulation in this package's tests does the same with seeded
// faults.
package rollout
