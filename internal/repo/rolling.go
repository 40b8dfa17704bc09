package repo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// readPhases gives components the phase of their label, where every step of their
// ApplicationSet matches by it, or by it and the part. Where some Applications of the set
// are parents, what those apply has no phase: the set orders by steps alone.
func readPhases(setup argo.Setup, components []model.Component, labels func(argo.ApplicationSet) ladderfile.Labels) {
	parted := model.Parted(components)
	for i := range components {
		c := &components[i]
		if parted[c.Set] {
			c.Phase = model.NoPhase
		}
		if c.Phase != model.NoPhase || c.Set == "" || parted[c.Set] {
			continue
		}
		set, ok := rollingSet(setup, c.Set)
		if !ok {
			continue
		}
		if _, ok := ladderSteps(set, labels(set), nil); !ok {
			continue
		}
		if phase, err := model.ParsePhase(c.Labels[labels(set).Phase]); err == nil {
			c.Phase = phase
		}
	}
}

// labels are the labels by which each ApplicationSet of a platform knows phases. Those of
// Applications are of the ladder file, unless the steps of all sets are one ladder by the
// label that each of them matches, and everything has a place there: as they would be
// beside descriptors.
func (r *Repository) labels(p *Platform, ofArgo bool) func(argo.ApplicationSet) ladderfile.Labels {
	own := func(set argo.ApplicationSet) ladderfile.Labels { return matched(set, r.file.ArgoCD.Labels) }
	if ofArgo {
		components := slices.Clone(p.Components)
		readPhases(p.Argo, components, own)
		// What has neither a phase nor a wave would have no place on a ladder.
		beside := slices.ContainsFunc(components, func(c model.Component) bool { return !c.PreArgo && c.Phase == model.NoPhase && len(c.Waves) == 0 })
		if steps, _ := rollingSteps(p.Argo, components, own); len(steps) == 0 || beside {
			return func(argo.ApplicationSet) ladderfile.Labels { return r.file.ArgoCD.Labels }
		}
	}
	return own
}

func rollingSet(setup argo.Setup, name string) (argo.ApplicationSet, bool) {
	for _, set := range setup.ApplicationSets {
		if set.Name == name && set.RollingSync {
			return set, true
		}
	}
	return argo.ApplicationSet{}, false
}

// rollingSteps are the steps of the ladder where ApplicationSets generate every
// component that has a phase, and their RollingSync steps name these phases; nil
// where that is not so. Several sets stand in the order of the sync waves of what
// applies them, and share no phase. sets are their names. Source: Argo CD,
// "Progressive Syncs".
func rollingSteps(setup argo.Setup, components []model.Component, labels func(argo.ApplicationSet) ladderfile.Labels) (steps []plan.LadderStep, sets []string) {
	var names []string
	waves := map[string][]int{}
	for _, c := range components {
		if c.PreArgo || c.Phase == model.NoPhase {
			continue
		}
		known, ok := waves[c.Set]
		switch {
		case c.Set == "" || ok && !slices.Equal(known, c.Waves):
			return nil, nil
		case !ok:
			names = append(names, c.Set)
			waves[c.Set] = c.Waves
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(slices.Compare(waves[a], waves[b]), strings.Compare(a, b))
	})
	taken := map[model.Phase]bool{}
	for i, name := range names {
		if i > 0 && slices.Equal(waves[name], waves[names[i-1]]) {
			return nil, nil // nothing orders the two sets
		}
		set, ok := rollingSet(setup, name)
		own, matched := ladderSteps(set, labels(set), components)
		if !ok || !matched {
			return nil, nil
		}
		for _, s := range own {
			for _, p := range s.Phases {
				if taken[p] {
					return nil, nil
				}
				taken[p] = true
			}
		}
		steps = append(steps, own...)
	}
	return steps, names
}

// limitBySets gives the derived steps of a ladder, all of whose components stand in one
// step of an ApplicationSet, the maxUpdate of that step.
func limitBySets(p *Platform) {
	for i := range p.Ladder.Steps {
		step := &p.Ladder.Steps[i]
		var first *model.Component
		one := true
		for k := range p.Components {
			c := &p.Components[k]
			if c.PreArgo || !slices.Contains(step.Phases, c.Phase) || step.Set != "" && c.Domain != step.Set {
				continue
			}
			if first == nil {
				first = c
			}
			one = one && c.Set == first.Set && c.Step == first.Step
		}
		if first == nil || !one {
			continue
		}
		if set, ok := rollingSet(p.Argo, first.Set); ok && first.Step > 0 && first.Step <= len(set.Steps) {
			step.MaxUpdate = maxUpdate(set.Steps[first.Step-1].MaxUpdate)
		}
	}
}

// ruleReversed is the rule of an order that a plan does not have.
const ruleReversed = "steps-against-plan"

// reversed tells of ApplicationSets whose RollingSync steps stand the other way round
// in the plan, which goes by the phases of all components where the steps of several
// sets cannot be one after the other.
func reversed(setup argo.Setup, steps []plan.LadderStep, components []model.Component) []finding.Finding {
	at := map[model.Phase]int{}
	for i, s := range steps {
		for _, p := range s.Phases {
			if _, known := at[p]; !known {
				at[p] = i
			}
		}
	}
	bySet := map[string][]*model.Component{}
	for i := range components {
		c := &components[i]
		if _, placed := at[c.Phase]; placed && c.Set != "" && c.Step > 0 {
			bySet[c.Set] = append(bySet[c.Set], c)
		}
	}
	var found []finding.Finding
	for _, set := range setup.ApplicationSets {
		members := bySet[set.Name]
		slices.SortStableFunc(members, func(a, b *model.Component) int { // a step has no order of its own
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(at[a.Phase], at[b.Phase]))
		})
		var last *model.Component // the one that the plan has last so far
		for _, c := range members {
			if last == nil || at[c.Phase] >= at[last.Phase] {
				last = c
				continue
			}
			found = append(found, finding.Finding{
				Rule: ruleReversed, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared,
				Component: c.Name, Provider: last.Name, Position: set.Steps[c.Step-1].Position,
				Message: fmt.Sprintf("ApplicationSet %s has %s (phase %s) in step %d, before %s (phase %s) in step %d; the plan goes by phases, and has them the other way round",
					set.Name, last.Name, last.Phase, last.Step, c.Name, c.Phase, c.Step),
				Fix: finding.Fix{Summary: "give earlier steps the smaller phases, or write the steps of the ladder in ladder.yaml"},
			})
			break
		}
	}
	return found
}

// ladderSteps reads the steps of a set as those of a ladder; ok is false where one of
// them matches by anything but phases, and parts of them, and where there are none. The parts
// of one step are one. A step that excludes phases has those of the components that it
// matches, and is left out where it matches none.
func ladderSteps(set argo.ApplicationSet, labels ladderfile.Labels, components []model.Component) (steps []plan.LadderStep, ok bool) {
	taken := map[model.Phase]bool{} // by steps that exclude phases: a later step has none of them
	for i, s := range set.Steps {
		step := plan.LadderStep{MaxUpdate: maxUpdate(s.MaxUpdate), Position: s.Position}
		part, phases, listed := false, false, true
		for _, e := range s.MatchExpressions {
			switch {
			case e.Key == labels.Phase && e.Operator != "In":
				phases, listed = true, false
				continue
			case e.Operator != "In" || e.Key != labels.Phase && e.Key != labels.Part:
				return nil, false
			case e.Key == labels.Part:
				part = true
				continue
			}
			for _, value := range e.Values {
				phase, err := model.ParsePhase(value)
				if err != nil {
					return nil, false
				}
				phases = true
				step.Phases = append(step.Phases, phase)
			}
		}
		if !phases {
			return nil, false
		}
		if listed {
			step.Phases = slices.DeleteFunc(step.Phases, func(p model.Phase) bool { return taken[p] })
		} else {
			step.Phases = phasesIn(set.Name, i+1, components)
			for _, p := range step.Phases {
				taken[p] = true
			}
		}
		if len(step.Phases) == 0 {
			continue
		}
		if last := len(steps) - 1; part && last >= 0 && slices.Equal(steps[last].Phases, step.Phases) {
			continue
		}
		steps = append(steps, step)
	}
	return steps, len(set.Steps) > 0
}

// phasesIn are the phases of the components in a step of an ApplicationSet, sorted.
func phasesIn(set string, step int, components []model.Component) []model.Phase {
	var phases []model.Phase
	for i := range components {
		if c := &components[i]; c.Set == set && c.Step == step && c.Phase != model.NoPhase {
			phases = append(phases, c.Phase)
		}
	}
	slices.Sort(phases)
	return slices.Compact(phases)
}

// maxUpdate reads a count or a percentage; nothing written is no limit.
func maxUpdate(text string) plan.MaxUpdate {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return plan.MaxUpdate{}
	}
	return plan.MaxUpdate{Count: int(n), Percent: percent, Set: true}
}
