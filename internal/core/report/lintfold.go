package report

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// named bounds how many components are named where they are folded.
const named = 60

// folded are findings of one rule about one provider in many components: an
// operator that fifty components use and nothing orders them behind. Those that come too
// early are others.
type folded struct {
	finding    finding.Finding // the first that is left out
	components []string        // with their environments, in their order
}

// fold leaves of such findings those of the first components. Errors stay: each
// of them has to be mended.
func (t *lintText) fold(all []shared) (left []shared, out []folded) {
	if t.verbose {
		return all, nil
	}
	type cause struct {
		rule, provider, says string
		severity             finding.Severity
	}
	of := func(f shared) cause { return cause{f.Rule, f.Provider, f.Says, f.Severity} }
	folds := func(f shared) bool { return f.Severity != finding.Error && f.Provider != "" }
	places := map[cause]map[string]int{} // of a component among those of a cause
	for _, f := range all {
		if !folds(f) {
			continue
		}
		c := of(f)
		if places[c] == nil {
			places[c] = map[string]int{}
		}
		if _, ok := places[c][f.header]; !ok {
			places[c][f.header] = len(places[c])
		}
	}
	index := map[cause]int{}
	for _, f := range all {
		c := of(f)
		if !folds(f) || len(places[c]) <= alike+1 || places[c][f.header] < alike {
			left = append(left, f)
			continue
		}
		i, ok := index[c]
		if !ok {
			i = len(out)
			index[c], out = i, append(out, folded{finding: f.Finding})
		}
		// Those of a component need not follow each other; its place tells whether it
		// was here before.
		if places[c][f.header] == alike+len(out[i].components) {
			out[i].components = append(out[i].components, f.header)
		}
	}
	return left, out
}

func (t *lintText) folds(all []folded) {
	for _, f := range all {
		names := f.components
		rest := ""
		if len(names) > named {
			rest = fmt.Sprintf(" and %d more", len(names)-named)
			names = names[:named]
		}
		fmt.Fprintf(t.b, "%s: the same in %s [%s]; --verbose shows them:\n    %s%s\n\n", t.style.paint(bold, Plain(f.finding.Provider)),
			finding.Count(len(f.components), "more component"), f.finding.Rule, strings.Join(names, ", "), rest)
	}
}
