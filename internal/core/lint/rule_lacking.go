package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	ruleKey      = "key-missing"
	ruleListener = "listener-missing"
)

// keyMissing finds pods that never start, since what they read has no such key.
func keyMissing(in Input) []finding.Finding {
	return lacking(in, ruleKey, "key", "add the key, correct its name, or mark the reference optional")
}

// listenerMissing finds routes that their Gateway does not accept.
func listenerMissing(in Input) []finding.Finding {
	return lacking(in, ruleListener, "listener", "add the listener, correct its name, or leave sectionName out to attach to every listener")
}

func lacking(in Input, rule, noun, fix string) []finding.Finding {
	var out []finding.Finding
	o := newOrder(in)
	for _, l := range in.Lacks {
		if _, enabled := o.byName[l.Consumer.Component]; !enabled || l.Rule != rule {
			continue
		}
		out = append(out, in.placed(finding.Finding{
			// Two parts of one thing are two mistakes.
			Rule: rule, Severity: bySeverity(l.Strength), Scope: finding.Rule,
			Component: l.Consumer.Component, Provider: l.Provider.Component, Resource: l.Required, Position: l.Consumer.Position,
			Basis: finding.Rendered, Evidence: slices.Clone(l.Evidence),
			Message: fmt.Sprintf("%s %s, which has only %s", whose(l.Consumer), l.Reason, fewOf(l.Has, noun)),
			Fix:     finding.Fix{Summary: fix},
		}, l.Part))
	}
	return out
}

// fewOf names the first of a list.
func fewOf(names []string, noun string) string {
	if len(names) <= named {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %s", strings.Join(names[:named], ", "), finding.Count(len(names)-named, "more "+noun))
}
