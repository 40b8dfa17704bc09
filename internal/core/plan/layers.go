package plan

import (
	"slices"
	"strconv"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// layered places components where Flux orders them: nothing but what each depends on
// does, so that there is a step for each depth of declared requirements. What is only
// inferred keeps its direction as far as that closes no circle.
func layered(in Input, placed placement) placement {
	number := make(map[string]int, len(in.Components))
	for i := range in.Components {
		if placed.stepOf[i] >= 0 && in.Components[i].Enabled {
			number[in.Components[i].Name] = i
		}
	}
	n := len(in.Components)
	var declared, inferred []dag.Edge
	for k := range in.Edges {
		e := &in.Edges[k]
		from, known := number[e.From]
		to, also := number[e.To]
		switch {
		case !known || !also || from == to:
		case e.Basis == finding.Declared:
			declared = append(declared, dag.Edge{From: from, To: to})
		case e.Strength == Hard:
			inferred = append(inferred, dag.Edge{From: from, To: to})
		}
	}
	kept := acyclic(n, declared)
	if builder, ok := dag.NewBuilder(dag.New(n, kept)); ok {
		for _, e := range inferred {
			if builder.Add(e) {
				kept = append(kept, e)
			}
		}
	}
	layers, _ := dag.New(n, kept).Layers()
	out := placement{stepOf: slices.Clone(placed.stepOf), unplaced: placed.unplaced, phaseless: placed.phaseless}
	last := 0
	for i := range in.Components {
		if placed.stepOf[i] >= 0 {
			out.stepOf[i] = layers[i]
			last = max(last, layers[i])
		}
	}
	for i := range last + 1 {
		out.steps = append(out.steps, Step{Index: i + 1, Label: "depth " + strconv.Itoa(i)})
	}
	return out
}

// acyclic leaves out the edges inside a circle.
func acyclic(n int, edges []dag.Edge) []dag.Edge {
	knot, knots := dag.New(n, edges).Components()
	if knots == n {
		return edges
	}
	return slices.DeleteFunc(slices.Clone(edges), func(e dag.Edge) bool { return knot[e.From] == knot[e.To] })
}
