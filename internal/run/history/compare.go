package history

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Comparison is two runs side by side. Times are in seconds; where the two ran at
// different speeds they are multiplied by them, and Scaled is set.
type Comparison struct {
	FormatVersion string `json:"formatVersion"`
	From          Run    `json:"from"`
	To            Run    `json:"to"`
	Scaled        bool   `json:"scaled"`
	// Notes say why the two may not be comparable.
	Notes    []string `json:"notes"`
	Makespan Delta    `json:"makespan"`
	// Idle is the share of the makespan in which nothing was in flight, Parallel
	// the mean number of components in flight.
	Idle     Delta `json:"idleShare"`
	Parallel Delta `json:"meanInFlight"`
	// Phases in the order of the second run, then those of the first alone.
	Phases []PhaseDelta `json:"phases"`
	// Components are sorted by how much their time changed, the most first.
	Components []ComponentDelta `json:"components"`
	// Failures are what went wrong in the second run and not in the first, Mended
	// the other way round.
	Failures []Failure `json:"newFailures"`
	Mended   []Failure `json:"mended"`
	// Added and Removed are the components of one run alone.
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// Run names one side.
type Run struct {
	ID          string  `json:"id"`
	Kind        string  `json:"kind"`
	Environment string  `json:"environment"`
	Revision    string  `json:"revision"`
	Engine      string  `json:"engine"`
	Policy      string  `json:"policy"`
	Speed       float64 `json:"speed"`
	Result      string  `json:"result"`
	// Shortcomings are what the run does not show although it may have succeeded.
	Shortcomings []string    `json:"shortcomings,omitempty"`
	Started      report.Time `json:"started"`
	Components   int         `json:"components"`
}

// Delta is a number on both sides.
type Delta struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Delta float64 `json:"delta"`
}

// PhaseDelta is a phase: from the first start to the last Healthy in it.
type PhaseDelta struct {
	Phase string `json:"phase"`
	// From and To are null where a run did not have the phase, or nothing of it
	// became Healthy.
	From  *float64 `json:"from"`
	To    *float64 `json:"to"`
	Delta float64  `json:"delta"`
}

// ComponentDelta is a component that became Healthy in both runs.
type ComponentDelta struct {
	Name  string `json:"name"`
	Phase string `json:"phase"`
	From  Waits  `json:"from"`
	To    Waits  `json:"to"`
	// Delta is the change of Total.
	Delta float64 `json:"delta"`
}

// Waits are the parts of a component's way, in seconds; null where the run did not
// tell one of their ends.
type Waits struct {
	// Queue is from unblocked to started: the wait for a place in the step.
	Queue *float64 `json:"unblockedToStarted"`
	// Sync is from started to synced, Settle from synced to Healthy.
	Sync   *float64 `json:"startedToSynced"`
	Settle *float64 `json:"syncedToHealthy"`
	// Total is from started to Healthy.
	Total    *float64 `json:"startedToHealthy"`
	Attempts int      `json:"attempts"`
}

// Failure is a component that did not become Healthy.
type Failure struct {
	Name    string `json:"name"`
	State   string `json:"state"`
	Object  string `json:"object"`
	Message string `json:"message"`
}

// Compare puts two runs side by side.
func Compare(from, to Entry) Comparison {
	x, y := 1.0, 1.0
	scaled := speed(from) != speed(to)
	if scaled {
		x, y = speed(from), speed(to)
	}
	a, b := measure(from, x), measure(to, y)
	c := Comparison{
		FormatVersion: report.FormatVersion, From: a.run, To: b.run, Scaled: scaled, Notes: notes(from, to),
		Makespan: delta(a.makespan, b.makespan), Idle: delta(a.idle, b.idle), Parallel: delta(a.parallel, b.parallel),
		Phases: []PhaseDelta{}, Components: []ComponentDelta{}, Failures: []Failure{}, Mended: []Failure{}, Added: []string{}, Removed: []string{},
	}
	for _, phase := range slices.Concat(b.phases, a.phases) {
		if slices.ContainsFunc(c.Phases, func(p PhaseDelta) bool { return p.Phase == phase }) {
			continue
		}
		c.Phases = append(c.Phases, PhaseDelta{Phase: phase, From: a.spans[phase], To: b.spans[phase], Delta: less(b.spans[phase], a.spans[phase])})
	}
	for _, r := range to.Report.Components {
		old, ok := a.components[r.Name]
		if !ok {
			c.Added = append(c.Added, r.Name)
			if bad(r) {
				c.Failures = append(c.Failures, failure(r))
			}
			continue
		}
		switch {
		case bad(r) && !bad(old):
			c.Failures = append(c.Failures, failure(r))
		case bad(old) && done(r):
			c.Mended = append(c.Mended, failure(old))
		}
		before, after := waits(old, x), waits(r, y)
		if done(old) && done(r) && before.Total != nil && after.Total != nil {
			c.Components = append(c.Components, ComponentDelta{Name: r.Name, Phase: r.Phase, From: before, To: after, Delta: less(after.Total, before.Total)})
		}
	}
	for _, r := range from.Report.Components {
		if _, ok := b.components[r.Name]; !ok {
			c.Removed = append(c.Removed, r.Name)
		}
	}
	slices.Sort(c.Added)
	slices.Sort(c.Removed)
	slices.SortFunc(c.Components, func(p, q ComponentDelta) int {
		return cmp.Or(cmp.Compare(math.Abs(q.Delta), math.Abs(p.Delta)), strings.Compare(p.Name, q.Name))
	})
	for _, l := range [][]Failure{c.Failures, c.Mended} {
		slices.SortFunc(l, func(p, q Failure) int { return strings.Compare(p.Name, q.Name) })
	}
	return c
}

// notes say what else differs between two runs.
func notes(from, to Entry) []string {
	out := []string{}
	for _, n := range []struct{ what, from, to string }{
		{"kind", from.Kind(), to.Kind()},
		{"environment", from.Report.Environment, to.Report.Environment},
		{"engine", from.Report.Engine, to.Report.Engine},
		{"policy", from.Report.Policy, to.Report.Policy},
	} {
		if n.from != n.to {
			out = append(out, n.what+" "+n.from+" against "+n.to)
		}
	}
	for i, e := range []Entry{from, to} {
		if e.Report.Result != string(rollout.Succeeded) {
			out = append(out, "the run "+[]string{"before", "after"}[i]+" is "+e.Report.Result+": its times are those until then")
		}
	}
	return out
}

func speed(e Entry) float64 {
	if !(e.Report.Speed > 0) {
		return 1
	}
	return e.Report.Speed
}

// measured is one run, its times multiplied.
type measured struct {
	run                      Run
	makespan, idle, parallel float64
	phases                   []string
	spans                    map[string]*float64
	components               map[string]report.RolloutComponent
}

func measure(e Entry, factor float64) measured {
	r := e.Report
	m := measured{
		run: Run{
			ID: e.ID, Kind: e.Kind(), Environment: r.Environment, Revision: r.Revision, Engine: r.Engine, Policy: r.Policy,
			Speed: speed(e), Result: r.Result, Shortcomings: r.Shortcomings(), Started: r.Started, Components: len(r.Components),
		},
		makespan: round(r.MakespanSeconds * factor), spans: map[string]*float64{}, components: map[string]report.RolloutComponent{},
	}
	type span struct{ first, last time.Time }
	phases := map[string]*span{}
	var busy []span
	finished := time.Time(r.Finished)
	for _, c := range r.Components {
		m.components[c.Name] = c
		if c.Removal {
			continue
		}
		p := phases[c.Phase]
		if p == nil {
			p = &span{}
			phases[c.Phase] = p
			m.phases = append(m.phases, c.Phase)
		}
		started, healthy := time.Time(c.StartedAt), time.Time(c.HealthyAt)
		if started.IsZero() {
			continue
		}
		if p.first.IsZero() || started.Before(p.first) {
			p.first = started
		}
		if healthy.After(p.last) {
			p.last = healthy
		}
		end := healthy
		if end.Before(started) {
			end = cmp.Or(time.Time(c.EndedAt), finished) // it was in flight to the end
		}
		if end.After(started) {
			busy = append(busy, span{started, end})
		}
	}
	for name, p := range phases {
		if !p.first.IsZero() && p.last.After(p.first) {
			m.spans[name] = seconds(p.last.Sub(p.first), factor)
		}
	}
	slices.SortFunc(busy, func(a, b span) int { return a.first.Compare(b.first) })
	var work, covered time.Duration
	var until time.Time
	for _, s := range busy {
		work += s.last.Sub(s.first)
		if s.first.After(until) {
			until = s.first
		}
		if s.last.After(until) {
			covered += s.last.Sub(until)
			until = s.last
		}
	}
	if total := finished.Sub(time.Time(r.Started)); total > 0 {
		m.idle = round(max(0, 1-covered.Seconds()/total.Seconds()))
		m.parallel = round(work.Seconds() / total.Seconds())
	}
	return m
}

// waits are the parts of a component's way.
func waits(c report.RolloutComponent, factor float64) Waits {
	between := func(from, to report.Time) *float64 {
		a, b := time.Time(from), time.Time(to)
		if a.IsZero() || b.IsZero() || b.Before(a) {
			return nil
		}
		return seconds(b.Sub(a), factor)
	}
	return Waits{
		Queue: between(c.UnblockedAt, c.StartedAt), Sync: between(c.StartedAt, c.SyncedAt),
		Settle: between(c.SyncedAt, c.HealthyAt), Total: between(c.StartedAt, c.HealthyAt), Attempts: c.Attempts,
	}
}

func done(c report.RolloutComponent) bool {
	return c.State == string(rollout.Done) || c.State == report.StateUnrendered
}

// bad reports whether a component was begun and did not end well. What waits for
// it is blocked, which is no failure of its own.
func bad(c report.RolloutComponent) bool {
	switch rollout.Status(c.State) {
	case rollout.Done, rollout.Removed, rollout.Skipped, rollout.Blocked, report.StateUnrendered:
		return false
	default:
		return true
	}
}

func failure(c report.RolloutComponent) Failure {
	return Failure{Name: c.Name, State: c.State, Object: c.Object, Message: c.Message}
}

func delta(from, to float64) Delta { return Delta{from, to, round(to - from)} }

func seconds(d time.Duration, factor float64) *float64 {
	s := round(d.Seconds() * factor)
	return &s
}

// less is the difference of two numbers that are known, else 0.
func less(a, b *float64) float64 {
	if a == nil || b == nil {
		return 0
	}
	return round(*a - *b)
}

// round keeps milliseconds.
func round(s float64) float64 { return math.Round(s*1000) / 1000 }
