package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// edgesOf turns the dependencies between components into edges. That a claim
// binds only with its consumer is no order: the two wait for each other.
func edgesOf(all []dependency.Dependency) []plan.Edge {
	var out []plan.Edge
	for _, d := range all {
		if d.Within() || d.Rule == ruleDeadlock {
			continue
		}
		out = append(out, plan.Edge{From: d.Consumer.Component, To: d.Provider.Component, Strength: d.Strength, Basis: d.Basis,
			Reason: d.Reason, Evidence: d.Evidence})
	}
	return out
}

// merge joins edges of one basis between two components.
func merge(edges []plan.Edge) []plan.Edge {
	slices.SortStableFunc(edges, func(a, b plan.Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(string(a.Basis), string(b.Basis)),
			compareStrength(a.Strength, b.Strength), strings.Compare(a.Reason, b.Reason))
	})
	var out []plan.Edge
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
	for _, e := range edges {
		if n := len(out); n > 0 && out[n-1].From == e.From && out[n-1].To == e.To && out[n-1].Basis == e.Basis {
			// The gravest comes first.
			out[n-1].Evidence = append(out[n-1].Evidence, e.Evidence...)
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

func compareStrength(a, b plan.Strength) int {
	rank := func(s plan.Strength) int {
		if s == plan.Hard {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

// distinct drops what is there already; each requirement stays before the
// provider that follows it.
func distinct(all []finding.Evidence) []finding.Evidence {
	seen := map[finding.Evidence]bool{}
	return slices.DeleteFunc(all, func(e finding.Evidence) bool {
		was := seen[e]
		seen[e] = true
		return was
	})
}
