// Package plan turns components, edges and a ladder into an order: steps,
// schedule, critical path, expected time and blast radius.
//
// It is pure: standard library only, no clock, no files. The result feeds the
// rollout state machine (package rollout), the reports and the generator.
package plan
