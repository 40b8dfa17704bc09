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
	key := func(e plan.Edge) (dag.Edge, bool) {
		_, _, ok := o.pair(e.From, e.To)
		return dag.Edge{From: number[e.From], To: number[e.To]}, ok && e.Strength == plan.Hard
	}
	for _, e := range in.Edges {
		if k, ok := key(e); ok {
			hard = append(hard, k)
		}
	}
	found := dag.New(len(names), hard).Cycles()
	if len(found) == 0 {
		return nil
	}
	between := map[dag.Edge][]plan.Edge{} // the steps of the cycles
	for _, cycle := range found {
		for i, to := range cycle[1:] {
			between[dag.Edge{From: cycle[i], To: to}] = nil
		}
	}
	for _, e := range in.Edges {
		k, ok := key(e)
		if _, step := between[k]; ok && step {
			between[k] = append(between[k], e)
		}
	}
	var out []finding.Finding
	var tangled tangles
	for _, cycle := range found {
		f := o.cycle(cycle, names, between)
		if f.Severity == finding.Error {
			out = append(out, f)
			continue
		}
		tangled.add(cycle, f)
	}
	return append(out, tangled.findings()...)
}

// tangle is a set of cycles that hang together: they share components.
type tangle struct {
	members map[int]bool
	cycles  [][]int
	found   []finding.Finding
}

// tangles are the cycles that only warn. Where one component is a hub of many
// (what routes to every namespace and is required in return), each of its cycles
// says the same again: one finding stands for all that hang together.
type tangles []tangle

func (t *tangles) add(cycle []int, f finding.Finding) {
	joined := tangle{members: map[int]bool{}}
	apart := func(other tangle) bool {
		return !slices.ContainsFunc(cycle, func(n int) bool { return other.members[n] })
	}
	for _, other := range *t {
		if apart(other) {
			continue
		}
		for n := range other.members {
			joined.members[n] = true
		}
		joined.cycles, joined.found = append(joined.cycles, other.cycles...), append(joined.found, other.found...)
	}
	for _, n := range cycle {
		joined.members[n] = true
	}
	joined.cycles, joined.found = append(joined.cycles, cycle), append(joined.found, f)
	*t = append(slices.DeleteFunc(*t, func(other tangle) bool { return !apart(other) }), joined)
}

// findings makes one finding of each tangle: its shortest cycle, and what the
// others are.
func (t tangles) findings() []finding.Finding {
	var out []finding.Finding
	for _, one := range t {
		least := 0
		for i, cycle := range one.cycles {
			if c := cmp.Compare(len(cycle), len(one.cycles[least])); c < 0 || c == 0 && slices.Compare(cycle, one.cycles[least]) < 0 {
				least = i
			}
		}
		f := one.found[least]
		if others := len(one.found) - 1; others > 0 {
			f.Message += fmt.Sprintf("; %d more circles go through them", others)
			if others == 1 {
				f.Message = strings.TrimSuffix(f.Message, "1 more circles go through them") + "1 more circle goes through them"
			}
			for i, other := range one.found {
				if i != least {
					chain, _, _ := strings.Cut(other.Message, ":")
					f.Evidence = append(f.Evidence, where(other.Position, "%s", chain))
				}
			}
		}
		out = append(out, f)
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
