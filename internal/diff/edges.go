package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// joint is the consumer and the provider of an edge.
type joint struct{ from, to string }

func compareJoints(a, b joint) int {
	return cmp.Or(strings.Compare(a.from, b.from), strings.Compare(a.to, b.to))
}

// requirements of one pair of components on one side.
type bond struct {
	edges   []plan.Edge
	against bool
}

// edges compares what components require.
func edges(from, to Side) EdgeChange {
	a, b := bonds(from.Plan), bonds(to.Plan)
	out := EdgeChange{Added: []Edge{}, Removed: []Edge{}, Changed: []EdgeReworked{}}
	all := maps.Clone(a)
	maps.Copy(all, b)
	fromLacks, toLacks := from.unrendered(), to.unrendered()
	for _, j := range slices.SortedFunc(maps.Keys(all), compareJoints) {
		x, y := a[j], b[j]
		switch {
		case x == nil:
			out.Added = append(out.Added, y.edge(j, to, fromLacks))
		case y == nil:
			out.Removed = append(out.Removed, x.edge(j, from, toLacks))
		default:
			if v, w := x.view(), y.view(); v.Strength != w.Strength || v.Against != w.Against || !slices.Equal(v.Reasons, w.Reasons) {
				out.Changed = append(out.Changed, EdgeReworked{From: j.from, To: j.to, Before: v, After: w})
			}
		}
	}
	return out
}

func bonds(p *plan.Plan) map[joint]*bond {
	out := map[joint]*bond{}
	for _, e := range p.Edges {
		j := joint{e.From, e.To}
		if out[j] == nil {
			out[j] = &bond{}
		}
		out[j].edges = append(out[j].edges, e)
	}
	for _, e := range p.Against {
		if found := out[joint{e.From, e.To}]; found != nil {
			found.against = true
		}
	}
	return out
}

// view joins the edges of a pair: it is as strong as the strongest.
func (b *bond) view() EdgeView {
	v := EdgeView{Strength: string(plan.Soft), Against: b.against, Reasons: []string{}}
	for _, e := range b.edges {
		if e.Strength == plan.Hard {
			v.Strength = string(plan.Hard)
		}
		v.Reasons = append(v.Reasons, finding.Redact(e.Reason))
	}
	slices.Sort(v.Reasons)
	v.Reasons = slices.Compact(v.Reasons)
	return v
}

// edge is a pair that only one side has, with its evidence.
func (b *bond) edge(j joint, s Side, otherLacks map[string]bool) Edge {
	v := b.view()
	out := Edge{
		From: j.from, To: j.to, Strength: v.Strength, Against: v.Against, Reasons: v.Reasons, Evidence: []finding.Evidence{},
		Uncertain: otherLacks[j.from] || otherLacks[j.to],
	}
	precise := b.edges
	if s.Precise != nil {
		precise = s.Precise(b.edges)
	}
	for _, e := range precise {
		for _, v := range e.Evidence {
			v.Text = finding.Redact(v.Text)
			if !slices.Contains(out.Evidence, v) {
				out.Evidence = append(out.Evidence, v)
			}
		}
	}
	return out
}
