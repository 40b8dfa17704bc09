package plan

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dag"
)

// Drawing is what a picture of a plan shows: not every edge, but those that no
// longer chain of edges implies, and those that the order contradicts.
type Drawing struct {
	// Arrows go from the provider to the consumer, which is the way a rollout
	// goes; sorted by consumer, then provider, as places in Plan.Order.
	Arrows []Arrow
	// Critical is set for the components of the critical path.
	Critical map[string]bool
}

// Arrow is one drawn edge.
type Arrow struct {
	Provider, Consumer string
	// Against is set where the provider stands in a later step.
	Against bool
	// Critical is set for two neighbours on the critical path that an edge joins.
	Critical bool
	// Soft is set where every edge between the two is soft.
	Soft bool
	// Reason of the first edge between the two.
	Reason string
}

// Drawing chooses what a picture shows.
func (p *Plan) Drawing() Drawing {
	g := p.graph
	d := Drawing{Critical: map[string]bool{}}
	follows := map[[2]int]bool{}
	for k, name := range p.CriticalPath.Components {
		d.Critical[name] = true
		if k > 0 {
			follows[[2]int{g.number[name], g.number[p.CriticalPath.Components[k-1]]}] = true
		}
	}
	between := map[[2]int]Edge{}
	for _, e := range p.Edges {
		pair := [2]int{g.number[e.From], g.number[e.To]}
		if have, ok := between[pair]; !ok || have.Strength == Soft && e.Strength != Soft {
			between[pair] = e
		}
	}
	add := func(from, to int) {
		e := between[[2]int{from, to}]
		d.Arrows = append(d.Arrows, Arrow{
			Provider: e.To, Consumer: e.From, Reason: e.Reason, Soft: e.Strength == Soft,
			Against: g.step[to] > g.step[from], Critical: follows[[2]int{from, to}],
		})
	}
	// What is against the order is drawn whatever implies it: it is left out of
	// the reduction, and of the graph that implies others.
	var agree []dag.Edge
	against := map[[2]int]bool{}
	for pair := range between {
		if g.step[pair[1]] > g.step[pair[0]] {
			against[pair] = true
		} else {
			agree = append(agree, dag.Edge{From: pair[0], To: pair[1]})
		}
	}
	reduced := dag.New(len(g.names), agree).Reduction()
	for _, from := range g.order {
		for _, to := range g.all.Requires(from) {
			pair := [2]int{from, int(to)}
			if against[pair] || follows[pair] || slices.Contains(reduced.Requires(from), to) {
				add(from, int(to))
			}
		}
	}
	return d
}
