// Package rollout is the state machine of a rollout: an event and a time give
// the next state and the effects to carry out.
//
// It is pure and deterministic: standard library only, no clock, no I/O, no
// goroutines. Package executor carries out the effects and feeds back what it
// observes; the simulation in this package's tests does the same with seeded
// faults. Machine keeps indexes so that an event costs what it changes; State is
// the same rollout as a plain value, Change what one event did to it.
//
// # Gates
//
// A component starts when
//
//   - everything it requires counts as Healthy: applied by this rollout, and its
//     newest observation is Healthy at this rollout's revision;
//   - under phases every component of every earlier step is settled, under edges
//     every one of the steps before ComponentSpec.After, under serial every
//     component before it;
//   - its step is approved, if it needs that, and has fewer than its limit in
//     flight (syncing or progressing), and so has the rollout;
//   - the rollout is neither paused nor halted.
//
// Among those that may start the greatest Rank starts first. Any observation
// other than Healthy at the revision closes the gate again for what has not
// started; retries pass the gate as first attempts do.
//
// Settled means Healthy. With the failure policy continue it also means failed,
// or never to start because of a failure: a failure then stops what requires the
// failed component, directly or not, and nothing else. A component of a later
// step without known requirements depends on nothing and goes on.
//
// # Attempts
//
// An attempt lasts from its Sync effect to Healthy and fails when the sync
// fails, when ComponentSpec.Timeout passes, when it stays Degraded for longer
// than DegradedGrace, or when an observation is final. It is retried after a
// backoff while RetrySpec allows; a final sync error is not. A component that
// was Healthy and is not any more may heal until its timeout, the times it was
// ill before included, then its attempt has failed as well.
//
// What has failed stays failed, also if it is observed Healthy later, until a
// Retry event.
//
// # Removal
//
// Spec.Remove names what earlier rollouts applied and the ladder lacks. Once
// every component is Healthy it is removed in reverse of the order that was
// applied: a component when everything that required it was observed gone, and
// where either side's requirements are not known, when everything that was
// applied after it was. No deletion begins while a component is not Healthy, in
// a pause, or after a failure that halts; what has begun goes on. An attempt is
// retried as that of a component is, and a removal that fails makes the rollout
// fail. MaxInFlight counts deletions too.
//
// # Ends
//
// A rollout has succeeded when every component is Healthy at one moment and
// nothing is left to remove. It has failed when something failed, nothing is
// under way and nothing more can start: under halt what was in flight is let
// finish, without retries. Pause and missing approvals do not end it; Abort and
// Spec.Timeout do. NewMachine refuses a Spec whose components wait for each
// other, so that nothing waits silently, and BlockedBy names a reason for every
// wait.
//
// # Crashes
//
// Effects follow the persisted Change, so a crash loses at most effects. After
// Recovered what was syncing is synced again at once, as a further attempt that
// does not count as a failure; its gate was open when it started. What was
// applied waits for its health. What was being deleted is deleted again. What
// was Healthy is Unconfirmed until it is observed. Timeouts do not run while
// nobody watches.
package rollout
