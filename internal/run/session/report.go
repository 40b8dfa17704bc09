package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// Revision identifies what is rolled out: a digest of every rendered object.
// It is the same for the same content, whatever the commit, and differs for a
// dirty work tree.
func Revision(loaded *analysis.Result) string {
	h := sha256.New()
	names := make([]string, 0, len(loaded.Objects))
	for name := range loaded.Objects {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		h.Write([]byte(name + "\x00"))
		for _, o := range loaded.Objects[name] {
			// Objects hold JSON values only; json.Marshal sorts their keys.
			b, err := json.Marshal(o.Object)
			if err != nil {
				continue
			}
			h.Write(b)
			h.Write([]byte{0})
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Conditions are those of a rollout that its state does not tell.
type Conditions struct {
	Engine string
	Seed   int64
	// Speed divides the simulated delays; 1 on a cluster.
	Speed float64
}

// notKept are the requirements that the order does not keep. Under the policy edges everything
// waits for what it requires, whatever the order says.
func notKept(loaded *analysis.Result, p *plan.Plan) []report.PlanEdge {
	if p.Policy == rollout.Edges {
		return []report.PlanEdge{}
	}
	against := report.PlanDocument(p, nil).Against
	for i := range against {
		against[i].Evidence = loaded.Precise(against[i].Evidence)
	}
	return against
}

// Report turns the outcome into the report, components in the order of the
// ladder, disabled ones as skipped.
func Report(loaded *analysis.Result, planned *plan.Plan, outcome executor.Outcome, c Conditions) report.Rollout {
	state := outcome.State
	r := report.Rollout{
		FormatVersion: report.FormatVersion,
		Result:        string(outcome.Result),
		Environment:   loaded.Platform.Environment,
		Revision:      state.Spec.Revision,
		Engine:        c.Engine,
		Policy:        string(state.Spec.Policy),
		Seed:          c.Seed,
		Speed:         c.Speed,
		Started:       report.Time(state.StartedAt),
		Finished:      report.Time(state.FinishedAt),
		BoundSeconds:  planned.Bound.Seconds() / c.Speed,
		Components:    []report.RolloutComponent{},
		Transitions:   []report.Transition{},
		Unrendered:    Unrendered(loaded),
		Against:       notKept(loaded, planned),
	}
	r.ExpectedSeconds = planned.Makespan.Seconds()
	if r.Result == "" {
		r.Result = report.ResultInterrupted
	}
	if !state.FinishedAt.IsZero() {
		r.MakespanSeconds = state.FinishedAt.Sub(state.StartedAt).Seconds()
	}
	for _, a := range state.Approvals {
		r.Approvals = append(r.Approvals, report.Approval{Step: state.Spec.Steps[a.Step].Label, At: report.Time(a.At), By: a.By, Reason: finding.Redact(a.Reason)})
	}
	states := map[string]rollout.ComponentState{}
	for _, s := range state.Components {
		states[s.Name] = s
	}
	removals := map[string]rollout.ComponentState{}
	for _, s := range state.Removals {
		removals[s.Name] = s
	}
	lacking := Lacking(loaded)
	for _, c := range loaded.Typed() {
		rc := report.RolloutComponent{Name: c.Name, Phase: c.Order(), Type: string(c.Type), State: string(rollout.Skipped), BlockedBy: []report.Blocker{}}
		if s, ok := states[c.Name]; ok {
			fill(&rc, s, outcome.Blocked[c.Name])
			rc.HealthyAt = report.Time(firstHealthy(outcome.Transitions, s))
			if s.Status != rollout.Done && rc.Message != "" {
				rc.Message += broughtBy(loaded.Dependencies, c.Name, s.Object, lacking)
			}
			switch {
			case !lacking[c.Name]:
				r.Judged++
			case s.Status == rollout.Done:
				rc.State, rc.EndedAt, rc.HealthyAt = report.StateUnrendered, rc.HealthyAt, report.Time{}
			}
		} else if s, ok := removals[c.Name]; ok { // it is disabled
			rc.Removal = true
			fill(&rc, s, outcome.Blocked[c.Name])
			delete(removals, c.Name)
		} else if !c.Enabled {
			rc.Message = "disabled"
		}
		r.Components = append(r.Components, rc)
	}
	for _, s := range state.Removals {
		if _, ok := removals[s.Name]; ok { // the repository does not know it
			rc := report.RolloutComponent{Name: s.Name, Removal: true, BlockedBy: []report.Blocker{}}
			fill(&rc, s, outcome.Blocked[s.Name])
			r.Components = append(r.Components, rc)
		}
	}
	for _, t := range outcome.Transitions {
		from, to, reason := Told(t, lacking[t.Component])
		r.Transitions = append(r.Transitions, report.Transition{At: report.Time(t.At), Component: t.Component, From: from, To: to, Reason: reason})
	}
	return r
}

// Told is a transition as people and machines get it: what stands in as an empty component
// is never called applied, nor Healthy.
func Told(t rollout.Transition, unrendered bool) (from, to, reason string) {
	state := func(s rollout.Status) string {
		if unrendered && s == rollout.Done {
			return report.StateUnrendered
		}
		return string(s)
	}
	from, to, reason = state(t.From), state(t.To), t.Reason
	switch {
	case to == report.StateUnrendered:
		reason = "it could not be rendered: nothing of it was applied or judged"
	case unrendered && t.To == rollout.Waiting:
		reason = "there is nothing of it to apply"
	}
	return from, to, reason
}

// firstHealthy is when the last attempt of a component first became Healthy:
// the moment that opened the gates behind it. Zero for one that never did. It
// may have been unhealthy for a while since; the transitions tell.
func firstHealthy(transitions []rollout.Transition, s rollout.ComponentState) time.Time {
	for _, t := range transitions {
		if t.Component == s.Name && t.To == rollout.Done && !t.At.Before(s.StartedAt) {
			return t.At
		}
	}
	return time.Time{}
}

func fill(rc *report.RolloutComponent, s rollout.ComponentState, blocked []rollout.Blocker) {
	rc.State = string(s.Status)
	rc.UnblockedAt, rc.StartedAt = report.Time(s.UnblockedAt), report.Time(s.StartedAt)
	rc.SyncedAt, rc.EndedAt = report.Time(s.SyncedAt), report.Time(s.EndedAt)
	rc.Attempts, rc.Message = s.Attempt, s.Message
	if s.Object.Kind != "" {
		rc.Object = s.Object.String()
	}
	if s.Status == rollout.Done {
		return
	}
	if s.Message == "" && !s.StartedAt.IsZero() && !s.Seen.At.Before(s.StartedAt) {
		rc.Message = s.Seen.Message // what it was in the middle of
	}
	for _, b := range report.CausesFirst(blocked) {
		name := b.Component
		if name == s.Name {
			continue // its own health is its message
		}
		rc.BlockedBy = append(rc.BlockedBy, report.Blocker{Component: name, Reason: b.Reason})
	}
}

// Lacking are the components that stand in as empty ones, or lack a part.
func Lacking(loaded *analysis.Result) map[string]bool {
	all := map[string]bool{}
	for _, u := range loaded.Unrendered {
		all[u.Component] = true
	}
	return all
}

// Unrendered lists what could not be rendered, in the order of the ladder.
func Unrendered(loaded *analysis.Result) []report.Unrendered {
	out := []report.Unrendered{}
	for _, e := range loaded.Unrendered {
		out = append(out, report.Unrendered{
			Component: e.Component, Source: finding.Redact(e.Source), Reason: finding.Plain(finding.Redact(strings.TrimSpace(e.Reason))),
			File: e.Position.File, Line: e.Position.Line,
		})
	}
	return out
}
