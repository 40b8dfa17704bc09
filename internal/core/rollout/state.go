package rollout

import (
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// FormatVersion is the version of the serialised State.
const FormatVersion = "1"

// Status is where a component stands in the rollout.
type Status string

// The statuses of a component.
const (
	// Blocked: not started; BlockedBy says what it waits for.
	Blocked Status = "blocked"
	// Syncing: its objects are being applied. In flight.
	Syncing Status = "syncing"
	// Waiting: applied, not yet observed Healthy at the revision. In flight.
	Waiting Status = "progressing"
	// Retrying: an attempt failed; the next one waits for its backoff.
	Retrying Status = "retrying"
	// Done: observed Healthy at the rollout's revision, and not otherwise since.
	Done Status = "healthy"
	// Regressed: was Healthy at the revision and is not any more. Its gate is
	// closed; it may heal by itself until its timeout.
	Regressed Status = "regressed"
	// Unconfirmed: was Healthy before the run was interrupted and has not been
	// observed since. Its gate is closed.
	Unconfirmed Status = "unconfirmed"
	// Failed: its attempts are used up, or its error is final.
	Failed Status = "failed"
	// TimedOut: its last attempt passed its timeout.
	TimedOut Status = "timed-out"
	// Aborted: it was started, and not Healthy, when the rollout was aborted.
	Aborted Status = "aborted"
	// Removing: its objects are being deleted. Only components of Spec.Remove.
	Removing Status = "removing"
	// Removed: everything of it was observed gone. Only components of
	// Spec.Remove.
	Removed Status = "removed"
	// Skipped: not part of this rollout. Only reports use it, for components
	// that are disabled or not selected.
	Skipped Status = "skipped"
)

// InFlight reports whether a component in this status takes a place of its
// step's limit and of the global cap.
func (s Status) InFlight() bool { return s == Syncing || s == Waiting }

// Bad reports whether the component has failed for good.
func (s Status) Bad() bool { return s == Failed || s == TimedOut }

// Result is how a rollout ended.
type Result string

// The results.
const (
	// Running: the rollout has not ended.
	Running Result = ""
	// Succeeded: every component was Healthy at the revision at one moment, and
	// what had to be removed is gone.
	Succeeded Result = "succeeded"
	// ResultFailed: a component, or the removal of one, failed or timed out, and
	// nothing more could start.
	ResultFailed Result = "failed"
	// ResultAborted: somebody ended it.
	ResultAborted Result = "aborted"
	// ResultTimedOut: the rollout took longer than Spec.Timeout.
	ResultTimedOut Result = "timed-out"
)

// State is a rollout at one moment: a plain value that can be serialised and
// taken up again by Restore, on another machine as well.
type State struct {
	FormatVersion string `json:"formatVersion"`
	Spec          Spec   `json:"spec"`
	Progress
	// Components in the order of Spec.Components.
	Components []ComponentState `json:"components"`
	// Removals in the order of Spec.Remove: Blocked, Removing, Retrying, Removed,
	// Failed, TimedOut or Aborted.
	Removals []ComponentState `json:"removals,omitempty"`
}

// Progress is the part of the state that concerns the rollout as a whole.
type Progress struct {
	// Sequence counts the events that changed something.
	Sequence  int64     `json:"sequence"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	// FinishedAt is zero while the rollout runs.
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// Deadline is when the rollout times out.
	Deadline time.Time `json:"deadline,omitzero"`
	PausedAt time.Time `json:"pausedAt,omitzero"` // zero: not paused
	PausedBy string    `json:"pausedBy,omitempty"`
	// Approvals are sorted by step.
	Approvals []Approval `json:"approvals,omitempty"`
	Result    Result     `json:"result"`
	// Message explains a result other than succeeded.
	Message string `json:"message,omitempty"`
}

// Approval lets a step start.
type Approval struct {
	// Step is an index into Spec.Steps.
	Step   int       `json:"step"`
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Approved reports whether a step was approved.
func (p Progress) Approved(step int) bool {
	return slices.ContainsFunc(p.Approvals, func(a Approval) bool { return a.Step == step })
}

// ComponentState is one component at one moment.
type ComponentState struct {
	Name   string `json:"name"`
	Status Status `json:"state"`
	// Attempt numbers the attempts, 1 for the first; an attempt that was
	// interrupted by a crash counts.
	Attempt int `json:"attempt"`
	// Failures counts the attempts that failed, Timeouts those of them that
	// passed their timeout.
	Failures int `json:"failures,omitempty"`
	Timeouts int `json:"timeouts,omitempty"`
	// Reapplied says that the revision was, or may have been, there before the
	// attempt.
	Reapplied bool `json:"reapplied,omitempty"`
	// UnblockedAt is when its gate opened last before it started; StartedAt and
	// SyncedAt belong to the last attempt; HealthyAt is when it turned Healthy
	// last.
	UnblockedAt time.Time `json:"unblockedAt,omitzero"`
	StartedAt   time.Time `json:"startedAt,omitzero"`
	SyncedAt    time.Time `json:"syncedAt,omitzero"`
	HealthyAt   time.Time `json:"healthyAt,omitzero"`
	// EndedAt is when it failed, timed out, was aborted or was gone.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Deadline is when the attempt, or the regression, times out; RetryAt is
	// when the next attempt is due.
	Deadline time.Time `json:"deadline,omitzero"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
	// DegradedAt is since when it has been Degraded in this attempt.
	DegradedAt time.Time `json:"degradedAt,omitzero"`
	// RegressedAt is since when it has been unhealthy after it was Healthy;
	// RegressedFor is how long it was so before, in this attempt. A component
	// that flaps uses up its timeout bit by bit.
	RegressedAt  time.Time     `json:"regressedAt,omitzero"`
	RegressedFor time.Duration `json:"regressedFor,omitempty"`
	// Message and Object explain the status in the words of the object.
	Message string           `json:"message,omitempty"`
	Object  finding.Resource `json:"object,omitzero"`
	// LastFailure is why an attempt before this one failed, until the component
	// turns Healthy.
	LastFailure string `json:"lastFailure,omitempty"`
	// Seen is the last observation.
	Seen Sighting `json:"seen,omitzero"`
}

// Sighting is the last observation of a component.
type Sighting struct {
	At       time.Time        `json:"at,omitzero"`
	Health   Health           `json:"health,omitempty"`
	Revision string           `json:"revision,omitempty"`
	Final    bool             `json:"final,omitempty"`
	Message  string           `json:"message,omitempty"`
	Object   finding.Resource `json:"object,omitzero"`
}

// Transition is one change of a component's status.
type Transition struct {
	At        time.Time `json:"at"`
	Component string    `json:"component"`
	From      Status    `json:"from"`
	To        Status    `json:"to"`
	Reason    string    `json:"reason"`
}

// Change is what one event changed: what a journal needs to hold. State.Apply
// adds it to the state before the event.
type Change struct {
	Progress    Progress         `json:"progress"`
	Components  []ComponentState `json:"components,omitempty"`
	Removals    []ComponentState `json:"removals,omitempty"`
	Transitions []Transition     `json:"transitions,omitempty"`
}

// Update is the answer to an event: what changed, to be persisted first, and
// what to do then.
type Update struct {
	Change  Change
	Effects []Effect
}

// Changed reports whether the event changed anything worth persisting.
func (u Update) Changed() bool { return u.Change.Progress.Sequence > 0 }

// Blocker is one thing that a component waits for.
type Blocker struct {
	Kind BlockerKind `json:"kind"`
	// Component is the component waited for; empty where it is none.
	Component string `json:"component"`
	// Root is the component at the root of a chain of failures.
	Root string `json:"root,omitempty"`
	// Reason is a phrase for people.
	Reason string `json:"reason"`
	// Until is when the wait ends by itself.
	Until time.Time `json:"until,omitzero"`
}

// BlockerKind says what kind of thing is waited for.
type BlockerKind string

// The kinds of blocker.
const (
	// OnRequirement: a required component is not Healthy (yet, or any more).
	OnRequirement BlockerKind = "requirement"
	// OnStep: a component of an earlier step, or under Serial an earlier
	// component, is not Healthy.
	OnStep BlockerKind = "step"
	// OnLimit: the step has as many components in flight as it may.
	OnLimit BlockerKind = "limit"
	// OnCap: the rollout has as many components in flight as it may.
	OnCap BlockerKind = "cap"
	// OnApproval: the step waits for approval.
	OnApproval BlockerKind = "approval"
	// OnPause: the rollout is paused.
	OnPause BlockerKind = "pause"
	// OnBackoff: the next attempt is not due yet.
	OnBackoff BlockerKind = "backoff"
	// OnHalt: another component failed and the failure policy is halt.
	OnHalt BlockerKind = "halt"
	// OnEnd: the rollout has ended (aborted or timed out).
	OnEnd BlockerKind = "end"
	// OnStart: the rollout has not started.
	OnStart BlockerKind = "start"
	// OnRemoval: it is being removed, or something that must be gone first is
	// not gone, or not everything that stays is Healthy.
	OnRemoval BlockerKind = "removal"
	// OnHealth: the component itself is in flight and not Healthy yet.
	OnHealth BlockerKind = "health"
)
