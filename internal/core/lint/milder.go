package lint

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Milder gives requirements that the order contradicts the strength that rules find in
// them: one of which no error is found, but something milder, is soft. So the plan says
// of an order what lint says of it.
func Milder(in Input, against []plan.Edge) []plan.Edge {
	if !slices.ContainsFunc(against, func(e plan.Edge) bool { return e.Strength == plan.Hard }) {
		return against
	}
	in.order = newOrder(in)
	in.Ladder.Bands = followed(in)
	found := sideBySide(in, slices.DeleteFunc(Rules(), func(r Rule) bool { return r.Run == nil }))
	weaken(in.Components, found)
	worst := map[[2]string]finding.Severity{}
	for _, f := range found {
		pair := [2]string{f.Component, f.Provider}
		if have, known := worst[pair]; !known || f.Severity.Rank() < have.Rank() {
			worst[pair] = f.Severity
		}
	}
	milder := slices.Clone(against)
	for i, e := range milder {
		severity, known := worst[[2]string{e.From, e.To}]
		if !known {
			// The steps of an ApplicationSet keep it where the plan, which goes by phases, has
			// them the other way round: see steps-against-plan.
			consumer, provider, ok := in.order.pair(e.From, e.To)
			known = ok && consumer.Set != "" && consumer.Set == provider.Set && in.order.compare(consumer, provider) > 0
		}
		if known && severity != finding.Error {
			milder[i].Strength = plan.Soft
		}
	}
	return milder
}
