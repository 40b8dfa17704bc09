package statuscmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Status is the JSON of the command.
type Status struct {
	FormatVersion string `json:"formatVersion"`
	Platform      string `json:"platform"`
	Environment   string `json:"environment"`
	// Plane is the name of the plane that a rehearsal is on.
	Plane string `json:"plane,omitempty"`
	// Simulated is set where a rehearsal skipped time: its times may be ahead of the clock.
	Simulated bool `json:"simulated,omitempty"`
	// Result is running, succeeded, failed, aborted or timed-out. Runner is the
	// process that drives it; empty where none does, though it may be unfinished.
	Result   string      `json:"result"`
	Runner   string      `json:"runner"`
	Message  string      `json:"message"`
	Paused   bool        `json:"paused"`
	PausedBy string      `json:"pausedBy"`
	Revision string      `json:"revision"`
	Policy   string      `json:"policy"`
	Started  report.Time `json:"started"`
	Updated  report.Time `json:"updated"`
	Finished report.Time `json:"finished"`
	// Counts of components by state.
	Counts     map[string]int `json:"counts"`
	Components []Component    `json:"components"`
	// Approvals are the steps that wait for nothing but an approval.
	Approvals []string `json:"approvals"`
	// NotKept are the requirements that the order does not keep.
	NotKept []rollout.Requirement `json:"notKept"`
}

// Component is one component of a rollout.
type Component struct {
	Name    string `json:"name"`
	Step    string `json:"step"`
	State   string `json:"state"`
	Removal bool   `json:"removal,omitempty"`
	// Since is when it came into its state.
	Since     report.Time `json:"since"`
	Attempts  int         `json:"attempts"`
	Message   string      `json:"message"`
	Object    string      `json:"object"`
	Evidence  Evidence    `json:"evidence"`
	BlockedBy []Blocker   `json:"blockedBy"`
}

// Evidence is the last observation of a component.
type Evidence struct {
	Health     string      `json:"health"`
	Revision   string      `json:"revision"`
	Observed   report.Time `json:"observed"`
	AgeSeconds float64     `json:"ageSeconds"`
	Message    string      `json:"message"`
}

// Blocker is one thing that a component waits for.
type Blocker struct {
	Kind      string      `json:"kind"`
	Component string      `json:"component"`
	Root      string      `json:"root"`
	Reason    string      `json:"reason"`
	Until     report.Time `json:"until"`
}

// Of is the status of a rollout at a moment of the clock.
func Of(s running.Snapshot, clock time.Time) Status {
	p, now := s.State.Progress, s.Now(clock)
	doc := Status{
		FormatVersion: report.FormatVersion, Platform: s.Key.Platform, Environment: s.Key.Environment,
		Result: cmp.Or(string(p.Result), "running"), Message: p.Message, Paused: !p.PausedAt.IsZero(), PausedBy: p.PausedBy,
		Revision: s.State.Spec.Revision, Policy: string(s.State.Spec.Policy),
		Started: report.Time(p.StartedAt), Updated: report.Time(p.UpdatedAt), Finished: report.Time(p.FinishedAt),
		Counts: map[string]int{}, Components: []Component{}, Approvals: []string{},
		NotKept: append([]rollout.Requirement{}, s.State.Spec.NotKept...),
	}
	if k := s.Rehearsal; k != nil {
		doc.Plane, doc.Simulated = k.Plane, s.Simulated()
		if p.Result == rollout.Succeeded && k.Unshown != "" { // as its report says
			doc.Result, doc.Message = string(rollout.ResultFailed), "the rollout succeeded, and the rehearsal failed: "+k.Unshown
		}
	}
	if s.Run.Alive {
		doc.Runner = s.Run.Holder.String()
	}
	last := map[string]time.Time{}
	for _, t := range s.Transitions {
		last[t.Component] = t.At
	}
	for i, c := range s.State.Components {
		spec := s.State.Spec.Components[i]
		state := string(c.Status)
		if spec.Unrendered && c.Status == rollout.Done {
			state = report.StateUnrendered
		}
		doc.add(s, c, state, s.State.Spec.Steps[spec.Step].Label, last[c.Name], now)
	}
	for _, c := range s.State.Removals {
		doc.add(s, c, string(c.Status), "", last[c.Name], now)
		doc.Components[len(doc.Components)-1].Removal = true
	}
	for _, a := range board(s, now).Approvals {
		doc.Approvals = append(doc.Approvals, a.Label)
	}
	return doc
}

func (d *Status) add(s running.Snapshot, c rollout.ComponentState, state, step string, since, now time.Time) {
	d.Counts[state]++
	out := Component{
		Name: c.Name, Step: step, State: state, Since: report.Time(since), Attempts: c.Attempt, Message: c.Message,
		BlockedBy: []Blocker{},
		Evidence: Evidence{
			Health: string(c.Seen.Health), Revision: c.Seen.Revision, Observed: report.Time(c.Seen.At), Message: c.Seen.Message,
		},
	}
	if c.Object.Kind != "" {
		out.Object = c.Object.String()
	}
	if !c.Seen.At.IsZero() {
		out.Evidence.AgeSeconds = now.Sub(c.Seen.At).Round(time.Millisecond).Seconds()
	}
	for _, b := range report.CausesFirst(s.Machine.BlockedBy(c.Name)) {
		out.BlockedBy = append(out.BlockedBy, Blocker{
			Kind: string(b.Kind), Component: b.Component, Root: b.Root, Reason: b.Reason, Until: report.Time(b.Until),
		})
	}
	d.Components = append(d.Components, out)
}

func board(s running.Snapshot, now time.Time) report.Board {
	at := now
	if f := s.State.FinishedAt; !f.IsZero() {
		at = f
	}
	return report.BoardOf(s.State, make([]string, len(s.State.Spec.Steps)), s.Machine.BlockedBy, 0, at)
}

// glyphs are the signs of states: never the only sign.
func glyph(state string) string {
	switch rollout.Status(state) {
	case rollout.Done, rollout.Removed:
		return "✓"
	case rollout.Failed, rollout.TimedOut, rollout.Aborted:
		return "✕"
	case rollout.Blocked:
		return "·"
	case report.StateUnrendered:
		return "!"
	default:
		return "▶"
	}
}

// stepWord is what a plan calls the steps of the rollout.
func stepWord(s running.Snapshot) string {
	if slices.ContainsFunc(s.State.Spec.Steps, func(step rollout.StepSpec) bool { return step.Phase }) {
		return "phase"
	}
	return "step"
}

// printStatus writes the status for people: the whole, each component, and the
// root causes of all waiting. What to do is left to printCommands.
func printStatus(w io.Writer, d Status, s running.Snapshot, clock time.Time) {
	now := s.Now(clock)
	fmt.Fprintf(w, "%s/%s  %s", d.Platform, d.Environment, d.Result)
	switch {
	case d.Paused:
		fmt.Fprintf(w, ", paused by %s", cmp.Or(d.PausedBy, "somebody"))
	case d.Result == "running" && d.Runner == "":
		fmt.Fprint(w, ", but nobody drives it")
	}
	fmt.Fprintf(w, "\nrevision %s, policy %s, started ", d.Revision, d.Policy)
	started, finished := s.State.StartedAt, s.State.FinishedAt
	switch {
	case d.Simulated && finished.IsZero():
		fmt.Fprintf(w, "%s ago; %s so far (simulated)", age(s.Rehearsal.Began, clock), age(started, now))
	case d.Simulated:
		fmt.Fprintf(w, "%s ago; took %s (simulated)", age(s.Rehearsal.Began, clock), age(started, finished))
	case finished.IsZero():
		fmt.Fprintf(w, "%s ago", age(started, now))
	default:
		fmt.Fprintf(w, "%s ago, finished %s ago", age(started, now), age(finished, now))
	}
	if d.Plane != "" {
		fmt.Fprintf(w, "\nrehearsed on plane %s", d.Plane)
	}
	if d.Runner != "" {
		fmt.Fprintf(w, "\ndriven by %s", d.Runner)
	}
	if d.Message != "" {
		fmt.Fprintf(w, "\n%s", report.Plain(d.Message))
	}
	for _, r := range d.NotKept {
		fmt.Fprintf(w, "\n! %s comes before %s in the ladder, yet it requires it", r.From, r.To)
	}
	fmt.Fprint(w, "\n\n")
	rows := [][]string{{"  " + strings.ToUpper(stepWord(s)), "COMPONENT", "STATE", "SEEN", "WHY"}}
	for _, c := range d.Components {
		why := c.Message
		if c.State != string(rollout.Done) && len(c.BlockedBy) > 0 {
			b := c.BlockedBy[0]
			why = b.Reason
			if b.Component != "" && b.Component != c.Name {
				why = b.Component + " " + b.Reason
			}
		}
		step := c.Step
		if c.Removal {
			step = "removal"
		}
		rows = append(rows, []string{glyph(c.State) + " " + step, c.Name, c.State, age(time.Time(c.Evidence.Observed), now), report.Plain(why)})
	}
	report.Table(w, rows)
	whys := slices.DeleteFunc(board(s, now).Why, func(y report.BoardWhy) bool { return len(y.Components) == 0 })
	if len(whys) > 0 {
		fmt.Fprint(w, "\nwhat holds up most:\n")
	}
	for i, y := range whys {
		if i == 8 {
			fmt.Fprintf(w, "  and %d more causes\n", len(whys)-i)
			break
		}
		line := "  " + report.Plain(y.On)
		if y.State != "" {
			line += "  " + y.State
		}
		if y.Text != "" {
			line += ": " + report.Plain(y.Text)
		}
		fmt.Fprintf(w, "%s\n    holds up %d\n", line, len(y.Components))
	}
}

// printCommands says what to do. A command has a line of its own, for people to copy.
func printCommands(w io.Writer, d Status, s running.Snapshot) {
	if !d.Paused && d.Result == "running" && d.Runner == "" {
		fmt.Fprintf(w, "go on with:\n  %s\n", s.Resuming())
	}
	for _, label := range d.Approvals {
		fmt.Fprintf(w, "%s %s waits for an approval:\n  %s\n", stepWord(s), label, approving(s, label))
	}
}

// approving says how a step is approved.
func approving(s running.Snapshot, label string) string {
	switch {
	case s.Rehearsal == nil:
		return "ladder approve " + label
	case s.Run.Alive:
		return "key a on the terminal of the rehearsal"
	default:
		return s.Resuming() + " --approve " + label
	}
}
