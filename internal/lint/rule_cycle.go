package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/dag"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

const ruleCycle = "cycle"

// cycles names every cycle of hard edges whole.
func cycles(in Input) []finding.Finding {
	o := newOrder(in)
	names := make([]string, 0, len(o.byName))
	for name := range o.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	number := make(map[string]int, len(names))
	for i, name := range names {
		number[name] = i
	}
	var hard []dag.Edge
	between := map[dag.Edge][]plan.Edge{}
	for _, e := range in.Edges {
		if _, _, ok := o.pair(e.From, e.To); !ok || e.Strength != plan.Hard {
			continue
		}
		key := dag.Edge{From: number[e.From], To: number[e.To]}
		if len(between[key]) == 0 {
			hard = append(hard, key)
		}
		between[key] = append(between[key], e)
	}
	var out []finding.Finding
	for _, cycle := range dag.New(len(names), hard).Cycles() {
		out = append(out, o.cycle(cycle, names, between))
	}
	return out
}

// cycle is the finding of one cycle, which begins and ends with its least
// component. Where nothing orders its members and none is declared, Argo CD may
// come through it by retrying.
func (o *order) cycle(cycle []int, names []string, between map[dag.Edge][]plan.Edge) finding.Finding {
	f := finding.Finding{
		Rule: ruleCycle, Severity: finding.Warning, Scope: finding.Cross, Basis: finding.Declared,
		Component: names[cycle[0]], Provider: names[cycle[1]],
	}
	chain := make([]string, len(cycle))
	for i, n := range cycle {
		chain[i] = names[n]
	}
	for i := range len(cycle) - 1 {
		from, to := chain[i], chain[i+1]
		edges := slices.Clone(between[dag.Edge{From: cycle[i], To: cycle[i+1]}])
		slices.SortStableFunc(edges, func(a, b plan.Edge) int {
			return cmp.Or(strings.Compare(string(a.Basis), string(b.Basis)), strings.Compare(a.Reason, b.Reason))
		})
		for _, e := range edges {
			f.Evidence = append(f.Evidence, o.stated(e))
			if e.Basis != finding.Declared {
				f.Basis = e.Basis
			} else {
				f.Severity = finding.Error
			}
		}
		if o.compare(o.byName[from], o.byName[to]) != 0 {
			f.Severity = finding.Error
		}
	}
	first := o.byName[chain[0]]
	f.Position = first.Position
	if len(f.Evidence) > 0 && f.Evidence[0].File != "" {
		f.Position = finding.Position{File: f.Evidence[0].File, Line: f.Evidence[0].Line}
	}
	f.Message = fmt.Sprintf("%s: each requires the next, so that none can be first", strings.Join(chain, " -> "))
	f.Fix.Summary = "drop one of the requirements, or split a component so that what the others need comes first"
	return f
}

// stated sums an edge up in one fact.
func (o *order) stated(e plan.Edge) finding.Evidence {
	text := fmt.Sprintf("%s -> %s: %s", e.From, e.To, e.Reason)
	if len(e.Evidence) == 0 {
		return where(o.byName[e.From].Position, "%s", text)
	}
	first := e.Evidence[0]
	first.Text = text
	return first
}
