package session

import (
	"fmt"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// RuleParentAtOnce says that objects beside Applications need one of these, which
// they cannot wait for without Argo CD.
const RuleParentAtOnce = "parent-at-once"

// ParentsAtOnce warns of objects beside the Applications of a parent that stand in a
// later wave than an Application that they need: the engine Native rolls all objects
// of a parent out as one component, at the wave of the first, and so waits there. It
// warns once for each parent.
func ParentsAtOnce(loaded *analysis.Result) []finding.Finding {
	byName := map[string]*model.Component{}
	for i := range loaded.Platform.Components {
		if c := &loaded.Platform.Components[i]; c.Enabled {
			byName[c.Name] = c
		}
	}
	told := map[string]bool{}
	var out []finding.Finding
	for _, d := range loaded.Dependencies {
		parent, child := byName[d.Consumer.Component], byName[d.Provider.Component]
		if d.Within() || d.Strength != plan.Hard || parent == nil || child == nil || told[parent.Name] {
			continue
		}
		if parent.Standing(d.Consumer.Place.Wave) == parent || model.Compare(child, parent) < 0 {
			continue
		}
		told[parent.Name] = true
		out = append(out, finding.Finding{
			Rule: RuleParentAtOnce, Severity: finding.Warning, Scope: finding.Rule, Environment: parent.Environment,
			Component: parent.Name, Provider: child.Name, Resource: d.Consumer.Object, Position: d.Consumer.Position, Basis: d.Basis, Evidence: d.Evidence,
			Message: fmt.Sprintf("%s (wave %d) %s, which %s brings; without Argo CD all objects beside the Applications of %s are applied at the wave of the first, and this one waits there until its time is over",
				d.Consumer.Object.Human(), d.Consumer.Place.Wave, d.Reason, child.Name, parent.Name),
			Fix: finding.Fix{Summary: "roll out with --engine argocd, or bring the object by an Application of its own"},
		})
	}
	return out
}
