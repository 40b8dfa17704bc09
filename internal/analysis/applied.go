package analysis

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// orderFlux fits the edges to the order in which Flux applies what there is, if it does.
func (r *Result) orderFlux() {
	setup := r.Platform.Flux
	if setup == nil {
		return
	}
	order := setup.Ordered()
	applies := func(e plan.Edge) bool {
		i, known := order.Unit(e.To)
		j, both := order.Unit(e.From)
		return known && both && order.Applies(i, j)
	}
	number := map[string]int{}
	for i := range r.Platform.Components {
		number[r.Platform.Components[i].Name] = i
	}
	var all []dag.Edge
	kept := r.Edges[:0]
	for _, e := range r.Edges {
		if e.Basis != finding.Declared && order.Compare(e.From, e.To) < 0 {
			r.Reversed = append(r.Reversed, e) // what Flux applies first waits for nothing that it applies later
			continue
		}
		kept = append(kept, e)
		all = append(all, dag.Edge{From: number[e.From], To: number[e.To]})
	}
	// What applies the consumer is there before in any case, so that this closes no circle.
	knot, _ := dag.New(len(r.Platform.Components), all).Components()
	r.Edges = slices.DeleteFunc(kept, func(e plan.Edge) bool {
		return e.Basis != finding.Declared && applies(e) && knot[number[e.From]] == knot[number[e.To]]
	})
	r.Edges = append(r.Edges, r.applied(setup, order, number)...)
}

// applied are the edges that components have because a Kustomization of Flux applies them: while
// something of that is refused, nothing of it is applied, so that they wait for what provides it as
// well. No edge closes a circle: the rules tell of what waits for itself.
func (r *Result) applied(setup *fluxcd.Setup, order *fluxcd.Order, number map[string]int) []plan.Edge {
	type pair struct{ from, to string }
	refused := map[pair]bool{}
	for i := range r.Dependencies {
		if d := &r.Dependencies[i]; d.Effect == dependency.Apply && d.Strength == plan.Hard {
			refused[pair{d.Consumer.Component, d.Provider.Component}] = true
		}
	}
	var known []dag.Edge
	have := map[pair]bool{}
	for _, e := range r.Edges {
		have[pair{e.From, e.To}] = true
		known = append(known, dag.Edge{From: number[e.From], To: number[e.To]})
	}
	builder, ok := dag.NewBuilder(dag.New(len(r.Platform.Components), known))
	if !ok {
		return nil
	}
	var all []plan.Edge
	for i := range setup.Units {
		u := &setup.Units[i]
		if u.Component == "" || u.Suspended {
			continue
		}
		for _, e := range r.Edges {
			by, isUnit := order.Unit(e.From)
			own := pair{u.Component, e.To}
			if !isUnit || !refused[pair{e.From, e.To}] || !order.Applies(by, i) || have[own] || own.from == own.to ||
				!builder.Add(dag.Edge{From: number[own.from], To: number[own.to]}) {
				continue
			}
			have[own] = true
			e.Reason = fmt.Sprintf("is applied by %s, which %s", e.From, e.Reason)
			e.From, e.Evidence, e.Inherited = u.Component, slices.Clone(e.Evidence), true
			all = append(all, e)
		}
	}
	return all
}
