package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// edges turns the dependencies between components into edges. That a claim binds
// only with its consumer is no order: the two wait for each other.
func (c *collection) edges() []plan.Edge {
	var out []plan.Edge
	for _, e := range c.cross {
		if e.Rule == ruleDeadlock || c.x.ofLater(e.Dependency) {
			continue
		}
		out = append(out, plan.Edge{From: e.Consumer.Component, To: e.Provider.Component, Strength: e.strength, Basis: e.Basis,
			Reason: e.Reason, Evidence: e.Evidence})
	}
	return out
}

// ofLater reports whether it is a later object of an app-of-apps that requires what
// one of its Applications provides. The component stands at its first object, of
// which the edge would not be true; the place of the later one is judged by its wave. What
// stands nowhere in relation to it is no Application of it.
func (x *index) ofLater(d *dependency.Dependency) bool {
	i, known := x.byName[d.Consumer.Component]
	j, also := x.byName[d.Provider.Component]
	if !known || !also || d.Consumer.Place.Hook < 1 {
		return false
	}
	c, provider := &x.in.Components[i], &x.in.Components[j]
	later := c.Standing(d.Consumer.Place.Wave) != c || c.AppOfApps && d.Consumer.Place.Hook > 1
	order := x.in.Order(provider, c)
	return later && (order > 0 || order == 0 && slices.Contains(provider.Parents, c.Name))
}

// merge joins edges of one basis between two components.
func merge(lists ...[]plan.Edge) []plan.Edge {
	var sorted []*plan.Edge // moving pointers is cheaper
	for _, edges := range lists {
		sorted = slices.Grow(sorted, len(edges))
		for i := range edges {
			sorted = append(sorted, &edges[i])
		}
	}
	slices.SortStableFunc(sorted, compareEdges)
	pairs := 0
	for i, e := range sorted {
		if i == 0 || !joins(sorted[i-1], e) {
			pairs++
		}
	}
	out := make([]plan.Edge, 0, pairs)
	var reasons []string
	finish := func() {
		if len(out) == 0 {
			return
		}
		last := &out[len(out)-1]
		last.Evidence = distinct(last.Evidence)
		if reasons = slices.Compact(reasons); len(reasons) > 1 {
			last.Reason = fmt.Sprintf("%s, and %d more", reasons[0], len(reasons)-1)
		}
	}
	for _, edge := range sorted {
		e := *edge
		if n := len(out); n > 0 && joins(&out[n-1], &e) {
			// The gravest comes first.
			out[n-1].Evidence = append(out[n-1].Evidence, e.Evidence...)
			out[n-1].Inherited = out[n-1].Inherited && e.Inherited
			reasons = append(reasons, e.Reason)
			continue
		}
		finish()
		e.Evidence = slices.Clone(e.Evidence)
		out, reasons = append(out, e), []string{e.Reason}
	}
	finish()
	return out
}

// joins reports whether two edges are of one basis between the same components.
func joins(a, b *plan.Edge) bool { return a.From == b.From && a.To == b.To && a.Basis == b.Basis }

// compareEdges compares evidence, which is long, only where all else is equal.
func compareEdges(a, b *plan.Edge) int {
	if n := strings.Compare(a.From, b.From); n != 0 {
		return n
	}
	if n := strings.Compare(a.To, b.To); n != 0 {
		return n
	}
	if n := strings.Compare(string(a.Basis), string(b.Basis)); n != 0 {
		return n
	}
	if n := compareStrength(a.Strength, b.Strength); n != 0 {
		return n
	}
	if n := strings.Compare(a.Reason, b.Reason); n != 0 {
		return n
	}
	return compareEvidence(a.Evidence, b.Evidence)
}

func compareStrength(a, b plan.Strength) int {
	rank := func(s plan.Strength) int {
		if s == plan.Hard {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

func compareEvidence(a, b []finding.Evidence) int {
	return slices.CompareFunc(a, b, func(a, b finding.Evidence) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Field, b.Field), strings.Compare(a.Text, b.Text))
	})
}

// few is how much evidence is compared one by one.
const few = 8

// distinct drops what is there already; each requirement stays before the
// provider that follows it.
func distinct(all []finding.Evidence) []finding.Evidence {
	if len(all) <= few {
		out := all[:0]
		for _, e := range all {
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
		return out
	}
	seen := map[finding.Evidence]bool{}
	return slices.DeleteFunc(all, func(e finding.Evidence) bool {
		was := seen[e]
		seen[e] = true
		return was
	})
}
