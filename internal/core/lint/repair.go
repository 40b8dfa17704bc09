package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// repair is what a rule finds wrong with the order of two components, and the change that mends it.
type repair struct{ environment, rule, component, provider, order string }

// OneRepair makes one finding of those of a rule that one change of the order of two components
// mends, however many objects prove it: the gravest speaks, and has the others. It is for what is
// shown: each of them is suppressed, and known to a baseline, by itself.
func OneRepair(found []finding.Finding) []finding.Finding {
	found = slices.Clone(found)
	finding.Sort(found)
	// Of the equally grave that one speaks which nothing but the order mends.
	slices.SortStableFunc(found, func(a, b finding.Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.Rank(), b.Severity.Rank()), cmp.Compare(boolRank(otherWays(a)), boolRank(otherWays(b))))
	})
	first := map[repair]int{}
	var out []finding.Finding
	for _, f := range found {
		r := repair{f.Environment, f.Rule, f.Component, f.Provider, f.Fix.Order}
		i, known := first[r]
		switch {
		case r.order == "":
			out = append(out, f)
		case !known:
			first[r] = len(out)
			out = append(out, f)
		default:
			out[i] = withAlso(out[i], f)
		}
	}
	finding.Sort(out)
	return out
}

// OneReason makes one finding of those of several components that cannot be rendered for one reason,
// as for a repository of charts that none of them has. It is for what is shown, as OneRepair.
func OneReason(found []finding.Finding) []finding.Finding {
	type reason struct{ environment, message string }
	first := map[reason]int{}
	var out []finding.Finding
	for _, f := range found {
		r := reason{f.Environment, f.Message}
		i, known := first[r]
		switch {
		case f.Rule != RuleRenderFailed || f.Severity != finding.Warning:
			out = append(out, f)
		case known:
			out[i].Also = append(slices.Clip(out[i].Also), f)
		default:
			first[r] = len(out)
			out = append(out, f)
		}
	}
	return out
}

// withAlso is a finding with a milder or equal one that the same change mends.
func withAlso(f, other finding.Finding) finding.Finding {
	f.Also = append(slices.Clip(f.Also), other)
	if otherWays(f) && !otherWays(other) {
		f.Fix.Summary = other.Fix.Summary
	}
	if f.Fix.Patch == "" {
		f.Fix.Patch, f.Fix.Moves = other.Fix.Patch, other.Fix.Moves
	}
	return f
}

// otherWays reports whether the fix of a finding begins with another way than the order.
func otherWays(f finding.Finding) bool {
	return !strings.HasPrefix(f.Fix.Summary, f.Fix.Order)
}
