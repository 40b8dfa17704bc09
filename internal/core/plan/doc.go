// Package plan turns components, edges and a ladder into an order: steps,
// schedule, critical path, expected time and blast radius.
//
// It is pure: standard library only, no clock, no files. The result feeds the
// rollout state machine (package rollout), the reports and the generator.
//
// # Gates
//
// What a component waits for depends on the policy:
//
//   - phases: every earlier step, and the edges that agree with the order of the
//     steps, inside a step too. At most maxUpdate of a step are in flight. An
//     edge against the order does not gate: a wrong ladder fails as it would
//     under RollingSync.
//   - edges: every edge. A component of which no requirement is known waits for
//     all earlier steps; if something in an earlier step requires it, only for
//     the steps before the first such one. At most the cap are in flight:
//     Ladder.MaxInFlight, default 10. maxUpdate does not count, except 0: a step
//     that is started by hand stays one. The component on which the longest
//     chain of expected work hangs starts first.
//   - serial: the component before it in the order of phases.
//
// Hard edges that form a cycle are reported in Plan.Cycles. The policy edges
// refuses to run them; under the others the members of a cycle inside one step
// do not wait for each other. Soft edges that would close a cycle are dropped.
//
// # Bound
//
// Plan.Bound is a lower bound of the makespan of every schedule that keeps the
// gates and limits of the policy, with the expected durations:
//
//   - edges: max(critical path, total work / cap).
//   - phases: the sum, over the steps, of max(longest chain inside the step,
//     work of the step / its maxUpdate): steps do not overlap.
//   - serial: the total work.
//
// The critical path is the longest chain of expected work through the gates,
// limits aside; under phases it passes through every step, under serial through
// every component.
package plan
