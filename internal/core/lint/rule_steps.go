package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const (
	rulePhaseStep    = "phase-without-step"
	ruleStepPhase    = "step-without-phase"
	ruleSeveralSteps = "app-in-several-steps"
)

// matching lists the steps of the ladder that match a component. Under tiers
// each ApplicationSet has steps of its own, and those of another tier never see
// the component.
func matching(l plan.Ladder, c *model.Component) []int {
	var found []int
	for i, s := range l.Steps {
		if l.Layout == plan.Tiers && s.Set != "" && s.Set != c.Domain {
			continue
		}
		if slices.Contains(s.Phases, c.Phase) {
			found = append(found, i)
		}
	}
	return found
}

// phaseWithoutStep finds components that no step matches: RollingSync leaves
// them out and somebody has to sync them by hand. Source: Argo CD, operator
// manual, "Progressive Syncs".
func phaseWithoutStep(in Input) []finding.Finding {
	var out []finding.Finding
	if len(in.Ladder.Steps) > 0 {
		for _, c := range onLadder(in) {
			if c.Phase < 0 || len(matching(in.Ladder, c)) > 0 {
				continue
			}
			message := fmt.Sprintf("no step matches phase %s of %s, so that Argo CD never syncs it", c.Phase, c.Name)
			if i := slices.IndexFunc(in.Ladder.Steps, func(s plan.LadderStep) bool { return slices.Contains(s.Phases, c.Phase) }); i >= 0 {
				message = fmt.Sprintf("no step of tier %s matches phase %s of %s, so that Argo CD never syncs it; the step of that phase belongs to tier %s",
					c.Domain, c.Phase, c.Name, in.Ladder.Steps[i].Set)
			}
			out = append(out, aboutPhase(c, rulePhaseStep, milder(c),
				fmt.Sprintf("add a step with phase %s to ladder.yaml, or choose the phase of a step", c.Phase), "%s", message))
		}
	}
	for i := range in.Components {
		c := &in.Components[i]
		if c.Enabled && c.Set == "" && in.Ladder.NeverSynced(c) {
			out = append(out, finding.Finding{
				Rule: rulePhaseStep, Severity: finding.Warning, Scope: finding.Rule, Component: c.Name, Position: c.Position, Basis: finding.Declared,
				Message: fmt.Sprintf("no ApplicationSet makes an Application of %s, and no Application names its folder, so that nothing in this repository applies it", c.Name),
				Fix:     finding.Fix{Summary: "let the generator of a set match its descriptor, or drop the descriptor"},
			})
		}
	}
	for _, g := range generated(in.Argo) {
		for _, app := range g.applications {
			if len(g.steps(app)) > 0 {
				continue
			}
			f := aboutApplication(app, rulePhaseStep, finding.Error, "no RollingSync step of ApplicationSet %s matches %s (%s), so that it is never synced",
				g.set.Name, app.Name, labelsOf(g.set, app))
			f.Fix.Summary = "give it a label that a step matches, or add a step"
			f.Evidence = append(f.Evidence, where(g.set.Position, "ApplicationSet %s orders with RollingSync", g.set.Name))
			out = append(out, f)
		}
	}
	return out
}

// stepWithoutPhase finds steps that match nothing.
func stepWithoutPhase(in Input) []finding.Finding {
	var out []finding.Finding
	components := onLadder(in)
	for i, s := range in.Ladder.Steps {
		if s.Position.File == "" || len(components) == 0 {
			continue
		}
		used := slices.ContainsFunc(components, func(c *model.Component) bool {
			return slices.Contains(matching(in.Ladder, c), i)
		})
		if !used {
			out = append(out, finding.Finding{
				Rule: ruleStepPhase, Severity: finding.Info, Scope: finding.Rule, Position: s.Position, Basis: finding.Declared,
				Message: fmt.Sprintf("step %d (%s) matches no component", i+1, phases(s)),
				Fix:     finding.Fix{Summary: "drop the step, or keep it as the place of what may come"},
			})
		}
	}
	for _, g := range generated(in.Argo) {
		for i, s := range g.set.Steps {
			used := slices.ContainsFunc(g.applications, func(a argo.Application) bool { return s.Matches(a.Labels) })
			if !used && len(g.applications) > 0 {
				out = append(out, finding.Finding{
					Rule: ruleStepPhase, Severity: finding.Info, Scope: finding.Rule, Position: s.Position, Basis: finding.Declared,
					Message: fmt.Sprintf("step %d of ApplicationSet %s matches no Application that it generates", i+1, g.set.Name),
					Fix:     finding.Fix{Summary: "drop the step, or correct the labels it matches"},
				})
			}
		}
	}
	return out
}

func phases(s plan.LadderStep) string {
	all := make([]string, len(s.Phases))
	for i, p := range s.Phases {
		all[i] = p.String()
	}
	return "phase " + strings.Join(all, ", ")
}

// appInSeveralSteps finds components that several steps match. Argo CD keeps the
// first and only logs the others, so the order is not the one that is written.
// Source: Argo CD, applicationset/progressivesync, buildAppDependencyList.
func appInSeveralSteps(in Input) []finding.Finding {
	var out []finding.Finding
	for _, c := range onLadder(in) {
		if c.Phase < 0 {
			continue
		}
		if all := matching(in.Ladder, c); len(all) > 1 {
			f := aboutPhase(c, ruleSeveralSteps, finding.Warning, "leave each phase to one step",
				"steps %s match phase %s of %s; only the first counts", numbers(all), c.Phase, c.Name)
			for _, i := range all {
				f.Evidence = append(f.Evidence, where(in.Ladder.Steps[i].Position, "step %d matches %s", i+1, phases(in.Ladder.Steps[i])))
			}
			out = append(out, f)
		}
	}
	for _, g := range generated(in.Argo) {
		for _, app := range g.applications {
			all := g.steps(app)
			if len(all) < 2 {
				continue
			}
			f := aboutApplication(app, ruleSeveralSteps, finding.Warning, "steps %s of ApplicationSet %s match %s (%s); only the first counts",
				numbers(all), g.set.Name, app.Name, labelsOf(g.set, app))
			f.Fix.Summary = "make the expressions of the steps exclude each other"
			for _, i := range all {
				f.Evidence = append(f.Evidence, where(g.set.Steps[i].Position, "step %d", i+1))
			}
			out = append(out, f)
		}
	}
	return out
}

// numbers prints indices as people count: "1, 3 and 4".
func numbers(indices []int) string {
	names := make([]string, len(indices))
	for k, i := range indices {
		names[k] = strconv.Itoa(i + 1)
	}
	return listed(names)
}

// rolling is an ApplicationSet that orders its Applications with RollingSync.
type rolling struct {
	set          argo.ApplicationSet
	applications []argo.Application
}

// generated pairs the ApplicationSets with RollingSync with their Applications. Where
// nothing makes Argo CD order by it, there are none.
func generated(s argo.Setup) []rolling {
	var all []rolling
	if s.Settings.Unordered() {
		return nil
	}
	for _, set := range s.ApplicationSets {
		if !set.RollingSync {
			continue
		}
		g := rolling{set: set}
		for _, app := range s.Applications {
			if app.Set == set.Name {
				g.applications = append(g.applications, app)
			}
		}
		all = append(all, g)
	}
	return all
}

// steps lists the steps that match an Application.
func (g rolling) steps(app argo.Application) []int {
	var found []int
	for i, s := range g.set.Steps {
		if s.Matches(app.Labels) {
			found = append(found, i)
		}
	}
	return found
}

// labelsOf prints those labels of an Application that the steps of its set look
// at.
func labelsOf(set argo.ApplicationSet, app argo.Application) string {
	var keys []string
	for _, s := range set.Steps {
		for _, e := range s.MatchExpressions {
			keys = append(keys, e.Key)
		}
	}
	slices.Sort(keys)
	var text []string
	for _, key := range slices.Compact(keys) {
		if value, ok := app.Labels[key]; ok {
			text = append(text, key+"="+value)
		} else {
			text = append(text, "no label "+key)
		}
	}
	return strings.Join(text, ", ")
}

// aboutApplication is a finding about one Application.
func aboutApplication(app argo.Application, rule string, severity finding.Severity, format string, args ...any) finding.Finding {
	name := app.Component
	if name == "" {
		name = app.Name
	}
	return finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Component: name,
		Resource: finding.Resource{Group: "argoproj.io", Kind: "Application", Namespace: app.Namespace, Name: app.Name},
		Position: app.Position, Basis: finding.Declared, Message: fmt.Sprintf(format, args...),
	}
}
