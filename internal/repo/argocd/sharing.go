package argocd

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// sharing are Applications that two parents apply, by the pair of the parents.
type sharing map[[2]string][]model.Component

// add notes an Application that was met twice. What one parent meets on two ways
// is no concern.
func (s sharing) add(first, second model.Component) {
	pair := [2]string{parentOf(first), parentOf(second)}
	slices.Sort(pair[:])
	if pair[0] != pair[1] && pair[0] != "" && pair[1] != "" {
		s[pair] = append(s[pair], first)
	}
}

// parentOf is the Application that applies a component; empty where people do.
func parentOf(c model.Component) string {
	if last := len(c.Parents) - 1; last >= 0 && !model.IsRoot(c.Parents[last]) && c.Parents[last] != model.AtOverlay {
		return c.Parents[last]
	}
	return ""
}

// findings has one for each pair: the parents overwrite each other's labels, and
// which of the two orders the Application is not known.
func (s sharing) findings() []finding.Finding {
	var out []finding.Finding
	for _, pair := range slices.SortedFunc(maps.Keys(s), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		shared := s[pair]
		f := newFinding(RuleShared, finding.Warning, shared[0].Position, shared[0].Name,
			"%s and %s both apply %s, and overwrite each other", pair[0], pair[1], named(shared))
		f.Scope, f.Provider = finding.Cross, pair[1]
		f.Resource = finding.Resource{Group: "argoproj.io", Kind: "Application", Name: shared[0].Name}
		out = append(out, f)
	}
	return out
}

func named(shared []model.Component) string {
	text := "the Application " + shared[0].Name
	switch n := len(shared) - 1; n {
	case 0:
		return text
	case 1:
		return text + " and 1 more"
	default:
		return fmt.Sprintf("%s and %d more", text, n)
	}
}
