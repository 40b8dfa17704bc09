package report

import (
	"encoding/json"
	"io"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// FormatVersion is the version of every JSON document of the command line.
const FormatVersion = "1"

// Rollout is the JSON report of a rollout or a rehearsal.
type Rollout struct {
	FormatVersion string `json:"formatVersion"`
	// Result is succeeded, failed, aborted, timed-out or interrupted.
	Result      string `json:"result"`
	Environment string `json:"environment"`
	Revision    string `json:"revision"`
	Engine      string `json:"engine"`
	// EngineVersion is that of Argo CD, where it is the engine.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Driven is set where a rehearsal synced Argo CD's Applications in the order of
	// the policy, instead of following Argo CD.
	Driven bool   `json:"driven,omitempty"`
	Policy string `json:"policy"`
	Seed   int64  `json:"seed"`
	// Speed divides the simulated delays; 1 on a real cluster.
	Speed    float64 `json:"speed"`
	Started  Time    `json:"started"`
	Finished Time    `json:"finished"`
	// MakespanSeconds is the time from the first start to the end, as the rollout
	// counts it; RealSeconds is what a rehearsal took that skipped idle time.
	MakespanSeconds float64 `json:"makespanSeconds"`
	RealSeconds     float64 `json:"realSeconds,omitempty"`
	// BoundSeconds is the least time that the same expected durations need
	// under the policy: max(critical path, work / concurrency), divided by Speed.
	BoundSeconds float64 `json:"boundSeconds"`
	// ExpectedSeconds is the makespan that the plan expected, as "ladder plan" tells it:
	// not divided by Speed.
	ExpectedSeconds   float64            `json:"expectedSeconds,omitempty"`
	PlaneReadySeconds float64            `json:"planeReadySeconds"`
	Components        []RolloutComponent `json:"components"`
	// Judged counts the components of the rollout that were rendered, so that their
	// state says something.
	Judged      int          `json:"judged"`
	Transitions []Transition `json:"transitions"`
	// Approvals are those of steps that start by hand.
	Approvals []Approval `json:"approvals,omitempty"`
	// Unrendered lists the components that stood in as empty ones.
	Unrendered []Unrendered `json:"unrendered"`
	// Against are the edges that the ladder contradicts: the policy phases does
	// not wait for them, as RollingSync would not.
	Against []PlanEdge `json:"against"`
	// Untested are the smokes of a rehearsal of which nothing can fail: that they are
	// Healthy says nothing, and so the result is failed.
	Untested []finding.Finding `json:"untested,omitempty"`
	// Errors are the errors of what a rehearsal read and of the order that it declares: the
	// rollout went on without what they name.
	Errors     []finding.Finding `json:"errors,omitempty"`
	Kubeconfig string            `json:"kubeconfig,omitempty"`
}

// ResultInterrupted is the result of a rollout that was left before it ended.
const ResultInterrupted = "interrupted"

// StateUnrendered is the state of a component that stood in as an empty one and
// became Healthy as such, which says nothing of what it holds.
const StateUnrendered = "unrendered"

// Approval says who let a step start that starts by hand, when, and why.
type Approval struct {
	Step   string `json:"step"`
	At     Time   `json:"at"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

// RolloutComponent is one component of a rollout report, in the order of the
// ladder.
type RolloutComponent struct {
	Name        string `json:"name"`
	Phase       string `json:"phase"`
	Type        string `json:"componentType"`
	State       string `json:"state"`
	UnblockedAt Time   `json:"unblockedAt"`
	StartedAt   Time   `json:"startedAt"`
	SyncedAt    Time   `json:"syncedAt"`
	HealthyAt   Time   `json:"healthyAt"`
	// EndedAt is when it failed, timed out, was aborted or was gone, or an empty one had stood in for it.
	EndedAt   Time      `json:"endedAt"`
	BlockedBy []Blocker `json:"blockedBy"`
	Attempts  int       `json:"attempts"`
	// Object is the object that explains a state other than healthy.
	Object  string `json:"object"`
	Message string `json:"message"`
	// Removal is set for a component that an earlier rollout applied and that is
	// not part of the environment any more: its state is that of its removal.
	Removal bool `json:"removal,omitempty"`
}

// Blocker is one thing that a component waits for.
type Blocker struct {
	Component string `json:"component"`
	Reason    string `json:"reason"`
}

// Transition is one change of a component's state.
type Transition struct {
	At        Time   `json:"at"`
	Component string `json:"component"`
	From      string `json:"from"`
	To        string `json:"to"`
	Reason    string `json:"reason"`
}

// Unrendered names a source that could not be rendered, and why.
type Unrendered struct {
	Component string `json:"component"`
	// Environment is set where a report is about several.
	Environment string `json:"environment,omitempty"`
	Source      string `json:"source"`
	Reason      string `json:"reason"`
	File        string `json:"file"`
	Line        int    `json:"line"`
}

// Time is an instant that prints as RFC 3339 with milliseconds in UTC, and as
// "" when it is zero.
type Time time.Time

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(t.String())
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == "" {
		*t = Time{}
		return nil
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	*t = Time(parsed)
	return err
}

// String prints the instant as the JSON reports do.
func (t Time) String() string {
	if time.Time(t).IsZero() {
		return ""
	}
	return time.Time(t).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// JSON writes any document of the command line: indented, without HTML escapes,
// with a final newline.
func JSON(w io.Writer, document any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(document)
}

// Change is one transition as progress displays show it.
type Change struct {
	At        time.Time `json:"at"`
	Phase     string    `json:"phase"`
	Component string    `json:"component"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	Reason    string    `json:"reason"`
}
