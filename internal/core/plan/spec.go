package plan

import (
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Spec is the rollout of the plan: what gates what under its policy. It fails
// with a *PlaceError if a component has no place, and under the policy edges
// with a *CycleError if components require each other.
func (p *Plan) Spec(o SpecOptions) (rollout.Spec, error) {
	if len(p.Unplaced) > 0 {
		return rollout.Spec{}, &PlaceError{Components: p.Unplaced}
	}
	if p.Policy == rollout.Edges && len(p.Cycles) > 0 {
		return rollout.Spec{}, &CycleError{Cycles: p.Cycles}
	}
	g := p.graph
	spec := rollout.Spec{
		Revision: o.Revision, Policy: p.Policy, OnFailure: o.OnFailure,
		MaxInFlight: o.MaxInFlight, Timeout: o.Timeout,
		Steps:      make([]rollout.StepSpec, len(p.Steps)),
		Components: make([]rollout.ComponentSpec, len(g.order)),
	}
	if spec.OnFailure == "" {
		spec.OnFailure = rollout.Halt
	}
	if p.Policy == rollout.Edges && spec.MaxInFlight == 0 {
		spec.MaxInFlight = g.cap
	}
	for k, s := range p.Steps {
		spec.Steps[k] = rollout.StepSpec{Label: s.Label, Phase: len(s.Phases) > 0, Limit: s.Limit}
		// The cap of the policy takes the place of maxUpdate; only a step that
		// somebody starts by hand stays one.
		if p.Policy != rollout.Phases {
			spec.Steps[k].Limit = min(s.Limit, 0)
		}
	}
	if p.Policy != rollout.Edges {
		for _, e := range p.Against {
			if pair := (rollout.Requirement{From: e.From, To: e.To}); e.Strength == Hard && !slices.Contains(spec.NotKept, pair) {
				spec.NotKept = append(spec.NotKept, pair)
			}
		}
	}
	scale := scaler(o.Speed)
	for k, i := range g.order {
		c := g.components[i]
		spec.Components[k] = rollout.ComponentSpec{
			Name: c.Name, Step: g.step[i], Unrendered: o.Unrendered[c.Name], Requires: g.requires(i),
			Timeout:       g.timeout(c, o, scale),
			DegradedGrace: scale(o.DegradedGrace),
			Retry:         g.retry(c, o, scale),
			Rank:          time.Duration(g.rank[i]),
		}
		if p.Policy == rollout.Edges {
			spec.Components[k].After = g.after[i]
		}
	}
	return spec, nil
}

// Removals fills in the timeouts and retries of what is to be removed: the
// defaults of the ladder, as nothing else is known of it. A plan without
// components removes nothing: it was read from the wrong place more often than
// it was meant. Source: Argo CD, syncPolicy.automated.allowEmpty.
func (p *Plan) Removals(vanished []rollout.RemovalSpec, o SpecOptions) []rollout.RemovalSpec {
	g := p.graph
	if len(g.order) == 0 {
		return nil
	}
	scale := scaler(o.Speed)
	out := slices.Clone(vanished)
	for i := range out {
		out[i].Timeout = g.timeout(&model.Component{}, o, scale)
		out[i].Retry = g.retry(&model.Component{}, o, scale)
	}
	return out
}

// requires names what gates a component, sorted.
func (g *graph) requires(i int) []string {
	requires := g.gates.Requires(i)
	if len(requires) == 0 {
		return nil
	}
	names := make([]string, len(requires))
	for k, j := range requires {
		names[k] = g.names[j]
	}
	slices.Sort(names)
	return names
}

// DefaultTimeout is the readiness timeout of a component where neither its
// descriptor nor the ladder has one.
const DefaultTimeout = 10 * time.Minute

func (g *graph) timeout(c *model.Component, o SpecOptions, scale func(time.Duration) time.Duration) time.Duration {
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = g.defaults.Timeout
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return max(scale(timeout), o.TimeoutFloor)
}

// retry fills in what the component does not say from the ladder, and what that
// does not say from Argo CD's defaults: 5 retries, 5s, factor 2, at most 3m.
func (g *graph) retry(c *model.Component, o SpecOptions, scale func(time.Duration) time.Duration) rollout.RetrySpec {
	own, ladder := c.Retry, g.defaults.Retry
	limit := 5
	switch {
	case own.Limit != nil:
		limit = *own.Limit
	case ladder.Limit != nil:
		limit = *ladder.Limit
	}
	return rollout.RetrySpec{
		Limit:       limit,
		Duration:    scale(firstPositive(own.Duration, ladder.Duration, 5*time.Second)),
		Factor:      firstPositive(own.Factor, ladder.Factor, 2),
		MaxDuration: scale(firstPositive(own.MaxDuration, ladder.MaxDuration, 3*time.Minute)),
		MaxTimeouts: o.MaxTimeouts,
	}
}

func firstPositive[T time.Duration | float64](values ...T) T {
	for _, v := range values {
		if v > 0 {
			return v
		}
	}
	return 0
}

// scaler divides durations by a speed.
func scaler(speed float64) func(time.Duration) time.Duration {
	if speed <= 0 {
		speed = 1
	}
	return func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
}
