package rollout

import "time"

// Policy decides when a component may start.
type Policy string

// The policies.
const (
	// Phases follows the ladder: a step starts when every earlier step is
	// Healthy, at most Limit components of the step in flight. Requirements
	// that the ladder's order allows are kept inside a step as well.
	Phases Policy = "phases"
	// Edges starts a component as soon as everything it requires is Healthy;
	// a component of which no requirement is known waits for all earlier steps.
	Edges Policy = "edges"
	// Serial rolls out one component after the other.
	Serial Policy = "serial"
)

// Policies lists every policy.
func Policies() []Policy { return []Policy{Phases, Edges, Serial} }

// FailurePolicy decides what a failed component stops.
type FailurePolicy string

// The failure policies.
const (
	Halt     FailurePolicy = "halt"     // starts nothing more anywhere
	Continue FailurePolicy = "continue" // stops its dependents only
)

// Spec is everything a rollout needs to know, fixed when it starts.
type Spec struct {
	Revision  string        `json:"revision"`
	Policy    Policy        `json:"policy"`
	OnFailure FailurePolicy `json:"onFailure"`
	// MaxInFlight caps the components in flight over all steps; 0 means no cap.
	// Under Serial it is 1, whatever is written here.
	MaxInFlight int `json:"maxInFlight"`
	// Timeout bounds the whole rollout; 0 means no bound. The time a rollout
	// is paused, or its process is down, does not count.
	Timeout time.Duration `json:"timeout"`
	// Steps in order. ComponentSpec.Step is an index into it.
	Steps []StepSpec `json:"steps"`
	// Components in a valid order: providers before consumers.
	Components []ComponentSpec `json:"components"`
	// NotKept are the requirements that the order does not keep, for people: nothing
	// waits for them.
	NotKept []Requirement `json:"notKept,omitempty"`
	// Remove are components that earlier rollouts applied and that are not part
	// of the ladder any more, in the order in which they were applied, as
	// Removals gives them. They are removed in reverse once every component is
	// Healthy. An empty list removes nothing.
	Remove []RemovalSpec `json:"remove,omitempty"`
}

// Requirement says that From cannot come up without To.
type Requirement struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// StepSpec is one step of the ladder.
type StepSpec struct {
	// Label is the phase ("150"), sync wave ("-3") or stage ("pre").
	Label string `json:"label"`
	// Phase is set where the label is a phase, or several.
	Phase bool `json:"phase,omitempty"`
	// Limit is how many components of the step may be in flight; 0 means no
	// limit, negative means manual: nothing starts until the step is approved,
	// and from then on there is no limit.
	Limit int `json:"limit"`
	// Approval holds the step until it is approved.
	Approval bool `json:"approval,omitempty"`
}

// String is the step as people call it.
func (s StepSpec) String() string {
	if s.Phase {
		return "phase " + s.Label
	}
	return "step " + s.Label
}

// held reports whether the step waits for an approval.
func (s StepSpec) held() bool { return s.Approval || s.Limit < 0 }

// ComponentSpec is one component as the state machine sees it.
type ComponentSpec struct {
	Name string `json:"name"`
	Step int    `json:"step"`
	// Unrendered is set where it stands in as an empty component: nothing of it is applied, and that
	// it is Healthy says nothing. The state machine does not read it.
	Unrendered bool `json:"unrendered,omitempty"`
	// Requires are the components that must be Healthy at the revision before
	// this one starts. The builder of the Spec leaves out what the policy does
	// not gate on.
	Requires []string `json:"requires,omitempty"`
	// After makes the component wait, under the policy Edges, for every
	// component of the steps with an index below After: it is the order of a
	// component of which no requirement is known. 0 waits for nothing. Phases
	// (always its own step) and Serial (always the component before) do not
	// read it.
	After int `json:"after,omitempty"`
	// Timeout bounds one attempt from its start to Healthy, and the time a
	// component may stay unhealthy after it was Healthy; 0 means no bound.
	Timeout time.Duration `json:"timeout"`
	// DegradedGrace ends an attempt that stays Degraded for longer than this,
	// after its sync; 0 leaves it to Timeout, because Argo CD reports Degraded
	// for states that heal, such as a container that crashes until its
	// database answers.
	DegradedGrace time.Duration `json:"degradedGrace,omitempty"`
	Retry         RetrySpec     `json:"retry"`
	// Rank orders components that may start at the same moment: greater first.
	// It is the length of the longest path of expected work that hangs on the
	// component.
	Rank time.Duration `json:"rank"`
}

// RemovalSpec is one component that is to be removed.
type RemovalSpec struct {
	Name string `json:"name"`
	// Requires are those of Spec.Remove that it required when it was applied,
	// directly or through components that stay. They are removed after it, and
	// stand before it.
	Requires []string `json:"requires,omitempty"`
	// EdgesKnown says that what it required is known. Where it is not, the order
	// is all there is: it is removed after everything that was applied after it,
	// and before everything that was applied before it.
	EdgesKnown bool `json:"edgesKnown,omitempty"`
	// Timeout bounds one attempt from its start until everything is gone; 0
	// means no bound.
	Timeout time.Duration `json:"timeout"`
	Retry   RetrySpec     `json:"retry"`
}

// RetrySpec bounds the retries of a failed attempt. Source: Argo CD's
// syncPolicy.retry.
type RetrySpec struct {
	// Limit is the number of retries after the first attempt. Negative means
	// no bound; there are at least minBackoff between retries then.
	Limit       int           `json:"limit"`
	Duration    time.Duration `json:"duration"`
	Factor      float64       `json:"factor"` // below 1 counts as 1
	MaxDuration time.Duration `json:"maxDuration"`
	// MaxTimeouts bounds how many attempts may end by their timeout before the
	// component has timed out for good; 0 leaves it to Limit. Waiting once more
	// rarely helps what did not become Healthy in the first place.
	MaxTimeouts int `json:"maxTimeouts,omitempty"`
}

// minBackoff keeps a retry without end from running hot.
const minBackoff = time.Second

// backoff is the wait before the retry that follows the nth failure, n >= 1.
func (r RetrySpec) backoff(n int) time.Duration {
	d := float64(r.Duration)
	factor := max(r.Factor, 1)
	limit := float64(r.MaxDuration)
	if limit <= 0 {
		limit = float64(24 * time.Hour)
	}
	for range n - 1 {
		if d >= limit {
			break
		}
		d *= factor
		if factor == 1 {
			break
		}
	}
	wait := time.Duration(min(d, limit))
	if r.Limit < 0 {
		wait = max(wait, minBackoff)
	}
	return wait
}

// Health is Argo CD's health of a component or object.
type Health string

// The health states. Source: Argo CD, pkg/health.
const (
	Unknown     Health = "Unknown"
	Missing     Health = "Missing"
	Progressing Health = "Progressing"
	Suspended   Health = "Suspended"
	Degraded    Health = "Degraded"
	Healthy     Health = "Healthy"
)
