package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// maxSpots bounds how many places of components are compared pair by pair.
const maxSpots = 3000

// spot is a place that components share: the same waves below the same parents.
type spot struct {
	step    int // as placed before
	speaker *model.Component
}

// untangle places components anew where the steps say more than Argo CD does. Steps
// put all paths of waves into one line, but nothing orders those below different
// parents; where a hard edge goes the other way, the line would keep the provider
// back for no reason. Then a component stands as early as the order that there is,
// and such edges, let it.
func untangle(in Input, placed placement) placement {
	against, along := unordered(in, placed)
	if len(against) == 0 {
		return placed
	}
	of, spots := spotsOf(in.Components, placed)
	if len(spots) > maxSpots {
		return placed
	}
	var ordered []dag.Edge
	for i, a := range spots {
		for j, b := range spots {
			if model.Compare(a.speaker, b.speaker) < 0 {
				ordered = append(ordered, dag.Edge{From: j, To: i})
			}
		}
	}
	builder, ok := dag.NewBuilder(dag.New(len(spots), ordered))
	if !ok {
		return placed
	}
	// Edges that the line kept are kept here, too: without it nothing else does.
	for _, e := range slices.Concat(against, along) {
		between := dag.Edge{From: of[e.From], To: of[e.To]}
		if builder.Add(between) {
			ordered = append(ordered, between)
		}
	}
	layers, _ := dag.New(len(spots), ordered).Layers()
	out := placement{stepOf: slices.Clone(placed.stepOf), unplaced: placed.unplaced, phaseless: placed.phaseless}
	labels := make([][]string, slices.Max(layers)+1)
	for i, s := range spots {
		if label := placed.steps[s.step].Label; !slices.Contains(labels[layers[i]], label) {
			labels[layers[i]] = append(labels[layers[i]], label)
		}
	}
	for i, s := range of {
		if s >= 0 {
			out.stepOf[i] = layers[s]
		}
	}
	for i, some := range labels {
		slices.Sort(some)
		out.steps = append(out.steps, Step{Index: i + 1, Label: strings.Join(some, " ")})
	}
	return out
}

// spotsOf finds the place of every component, by index into the input; -1 for none.
func spotsOf(components []model.Component, placed placement) (of []int, spots []spot) {
	of = make([]int, len(components))
	seen := map[string]int{}
	order := make([]int, len(components))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return strings.Compare(components[i].Name, components[j].Name) })
	for _, i := range order {
		c := &components[i]
		of[i] = -1
		if placed.stepOf[i] < 0 {
			continue
		}
		key := placed.steps[placed.stepOf[i]].Label + "\x00" + c.Set + "\x00" + strings.Join(c.Parents, "\x00")
		n, ok := seen[key]
		if !ok {
			n = len(spots)
			seen[key] = n
			spots = append(spots, spot{step: placed.stepOf[i], speaker: c})
		}
		of[i] = n
	}
	return of, spots
}

// unordered are the hard edges between components, by index into the input, that
// nothing orders: those of which the provider stands later in the line, and those of
// which it stands earlier. There are none where the ladder has steps: these are in one line.
func unordered(in Input, placed placement) (against, along []dag.Edge) {
	if len(in.Ladder.Steps) > 0 {
		return nil, nil
	}
	number := make(map[string]int, len(in.Components))
	for i := range in.Components {
		if c := &in.Components[i]; c.Enabled && placed.stepOf[i] >= 0 {
			number[c.Name] = i
		}
	}
	for _, e := range in.Edges {
		from, known := number[e.From]
		to, also := number[e.To]
		if !known || !also || e.Strength != Hard || model.Compare(&in.Components[from], &in.Components[to]) != 0 {
			continue
		}
		switch cmp.Compare(placed.stepOf[to], placed.stepOf[from]) {
		case 1:
			against = append(against, dag.Edge{From: from, To: to})
		case -1:
			along = append(along, dag.Edge{From: from, To: to})
		}
	}
	for _, edges := range [][]dag.Edge{against, along} {
		slices.SortFunc(edges, func(a, b dag.Edge) int {
			return cmp.Or(strings.Compare(in.Components[a.From].Name, in.Components[b.From].Name), strings.Compare(in.Components[a.To].Name, in.Components[b.To].Name))
		})
	}
	return against, along
}
