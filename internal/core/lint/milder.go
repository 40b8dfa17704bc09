package lint

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Milder gives requirements that the order contradicts the strength that rules find in
// them, at the levels of the settings: one of which nothing at a level, or above it, is left is
// soft. So the plan says of an order what lint says of it. suppress takes off what somebody
// suppressed.
func Milder(in Input, against []plan.Edge, least finding.Severity, o Options, suppress func([]finding.Finding) (kept []finding.Finding, hidden []Suppressed)) []plan.Edge {
	if !slices.ContainsFunc(against, func(e plan.Edge) bool { return e.Strength == plan.Hard }) {
		return against
	}
	in.order = newOrder(in)
	in.Ladder.Bands = followed(in)
	found := sideBySide(in, slices.DeleteFunc(Rules(), func(r Rule) bool { return r.Run == nil }))
	weaken(in.Components, found)
	pairs := map[[2]string]*verdict{}
	for _, e := range against {
		pairs[[2]string{e.From, e.To}] = &verdict{}
	}
	of := func(f finding.Finding) *verdict { return pairs[[2]string{f.Component, f.Provider}] }
	found = slices.DeleteFunc(found, func(f finding.Finding) bool { return of(f) == nil })
	for i, f := range found {
		found[i].Environment = in.Environment
		v := of(f)
		v.known = true
		if !o.wants(f.Rule) {
			v.hide(finding.Evidence{Text: f.Rule + " is off in ladder.yaml"})
		}
	}
	kept, hidden := suppress(Settle(found, o))
	for _, f := range kept {
		v := of(f)
		v.wrong = v.wrong || f.Severity.Rank() <= least.Rank()
	}
	for _, s := range hidden {
		of(s.Finding).hide(where(s.By.Position, "%s is suppressed: %s", s.Finding.Rule, s.By.Reason))
	}
	milder := slices.Clone(against)
	for i, e := range milder {
		v := pairs[[2]string{e.From, e.To}]
		known := v.known
		if !known {
			// The steps of an ApplicationSet keep it where the plan, which goes by phases, has
			// them the other way round: see steps-against-plan.
			consumer, provider, ok := in.order.pair(e.From, e.To)
			// What Flux applies first and no rule finds wrong heals.
			known = ok && in.order.flux != nil && in.order.compare(consumer, provider) < 0 || ok && consumer.Set != "" && consumer.Set == provider.Set && in.order.compare(consumer, provider) > 0
		}
		if known && !v.wrong && e.Strength == plan.Hard {
			milder[i].Strength = plan.Soft
			milder[i].Evidence = slices.Concat(e.Evidence, v.untold)
		}
	}
	return milder
}

// verdict is what rules say of two components that the order contradicts.
type verdict struct {
	known, wrong bool
	untold       []finding.Evidence // why findings about them are not told
}

func (v *verdict) hide(why finding.Evidence) {
	if !slices.Contains(v.untold, why) {
		v.untold = append(v.untold, why)
	}
}
