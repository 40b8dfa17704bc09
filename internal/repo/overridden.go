package repo

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// overridden tells of steps of ladder.yaml that are not those of the ApplicationSets which
// somebody wrote: the plan has the first, Argo CD the second. Sets that Ladder generated have
// the steps of the file that they were generated of.
func (r *Repository) overridden(p *Platform) []finding.Finding {
	if p.Argo.Settings.Unordered() {
		return nil
	}
	var differences []finding.Evidence
	for _, set := range p.Argo.ApplicationSets {
		if content, err := r.tree.Read(set.Position.File); !set.RollingSync || err != nil || ladderfile.IsGenerated(content) {
			continue
		}
		differences = append(differences, stepsApart(set, p.Ladder.Steps, p.Components)...)
	}
	if len(differences) == 0 {
		return nil
	}
	f := finding.Finding{
		Rule: ruleReversed, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared, Position: p.Ladder.Steps[0].Position,
		Message:  "the plan goes by the steps of ladder.yaml, and Argo CD by those of its ApplicationSets, which differ: " + differences[0].Text,
		Evidence: differences,
		Fix:      finding.Fix{Summary: "write the same in both, or leave steps out of ladder.yaml: then those of the sets count"},
	}
	if more := len(differences) - 1; more > 0 {
		f.Message += fmt.Sprintf(", and %s", finding.Count(more, "more difference"))
	}
	return []finding.Finding{f}
}

// stepsApart are the steps of a set, as far as it generates something for them, of which a
// ladder has another maxUpdate, or that it has as one.
func stepsApart(set argo.ApplicationSet, steps []plan.LadderStep, components []model.Component) []finding.Evidence {
	var found []finding.Evidence
	add := func(at finding.Position, format string, args ...any) {
		e := finding.Evidence{Text: fmt.Sprintf(format, args...), File: at.File, Line: at.Line}
		if !slices.Contains(found, e) {
			found = append(found, e)
		}
	}
	first := map[int]*model.Component{} // of what stands in a step of the ladder
	for i := range components {
		c := &components[i]
		if c.Set != set.Name || c.Step == 0 || c.Step > len(set.Steps) || c.Phase == model.NoPhase || !c.Enabled {
			continue
		}
		at := slices.IndexFunc(steps, func(s plan.LadderStep) bool {
			return slices.Contains(s.Phases, c.Phase) && (s.Set == "" || s.Set == c.Domain)
		})
		if at < 0 {
			continue
		}
		own := set.Steps[c.Step-1]
		if here, there := limited(steps[at].MaxUpdate), limited(maxUpdate(own.MaxUpdate)); here != there {
			add(own.Position, "phase %s has %s in ApplicationSet %s, and %s in the plan", c.Phase, limitOf(there), set.Name, limitOf(here))
		}
		switch other := first[at]; {
		case other == nil:
			first[at] = c
		case other.Step != c.Step && other.Phase != c.Phase: // the parts of one phase have steps of their own
			add(own.Position, "phases %s and %s have two steps in ApplicationSet %s, and one in the plan", min(other.Phase, c.Phase), max(other.Phase, c.Phase), set.Name)
		}
	}
	return found
}

// limitOf is a maxUpdate in words.
func limitOf(m plan.MaxUpdate) string {
	if !m.Set {
		return "no maxUpdate"
	}
	return "maxUpdate " + m.String()
}

// limited is a limit, or none where it is all there is.
func limited(m plan.MaxUpdate) plan.MaxUpdate {
	if m.Percent && m.Count >= 100 {
		return plan.MaxUpdate{}
	}
	return m
}
