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
	MaxInFlight int `json:"maxInFlight"`
	// Timeout bounds the whole rollout; 0 means no bound.
	Timeout time.Duration `json:"timeout"`
	// Steps in order. ComponentSpec.Step is an index into it.
	Steps []StepSpec `json:"steps"`
	// Components in a valid order: providers before consumers.
	Components []ComponentSpec `json:"components"`
}

// StepSpec is one step of the ladder.
type StepSpec struct {
	// Label is the phase ("150"), sync wave ("-3") or stage ("pre").
	Label string `json:"label"`
	// Limit is how many components of the step may be in flight; 0 means no
	// limit, negative means manual: nothing starts until the step is approved.
	Limit int `json:"limit"`
	// Approval holds the step until it is approved.
	Approval bool `json:"approval,omitempty"`
}

// ComponentSpec is one component as the state machine sees it.
type ComponentSpec struct {
	Name string `json:"name"`
	Step int    `json:"step"`
	// Requires are the components that must be Healthy at the revision before
	// this one starts. The builder of the Spec leaves out what the policy does
	// not gate on.
	Requires []string `json:"requires,omitempty"`
	// Timeout bounds one attempt from its start to Healthy; 0 means no bound.
	Timeout time.Duration `json:"timeout"`
	Retry   RetrySpec     `json:"retry"`
	// Rank orders components that may start at the same moment: greater first.
	// It is the length of the longest path of expected work that hangs on the
	// component.
	Rank time.Duration `json:"rank"`
}

// RetrySpec bounds the retries of a failed sync.
type RetrySpec struct {
	Limit       int           `json:"limit"` // retries after the first attempt; negative: no bound
	Duration    time.Duration `json:"duration"`
	Factor      float64       `json:"factor"`
	MaxDuration time.Duration `json:"maxDuration"`
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
