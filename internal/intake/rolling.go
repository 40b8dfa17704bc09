package intake

import (
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/argo"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// phaseLabel is the label by which RollingSync steps know phases.
const phaseLabel = "rollout-phase"

// rollingSteps are the steps of the ladder where one ApplicationSet generates
// every component that has a phase, and its RollingSync steps name these phases;
// nil where that is not so. Source: Argo CD, "Progressive Syncs".
func rollingSteps(setup argo.Setup, components []component.Component) []plan.LadderStep {
	name := ""
	for _, c := range components {
		switch {
		case c.PreArgo || c.Phase == component.NoPhase:
		case c.Set == "" || len(c.Waves) > 0 || name != "" && c.Set != name:
			return nil
		default:
			name = c.Set
		}
	}
	if name == "" {
		return nil
	}
	for _, set := range setup.ApplicationSets {
		if set.Name == name && set.RollingSync {
			return ladderSteps(set)
		}
	}
	return nil
}

// ladderSteps reads the steps of a set as those of a ladder; nil where one of
// them matches by anything but phases.
func ladderSteps(set argo.ApplicationSet) []plan.LadderStep {
	var steps []plan.LadderStep
	for _, s := range set.Steps {
		if len(s.MatchExpressions) != 1 || s.MatchExpressions[0].Key != phaseLabel || s.MatchExpressions[0].Operator != "In" {
			return nil
		}
		step := plan.LadderStep{MaxUpdate: maxUpdate(s.MaxUpdate), Position: s.Position}
		for _, value := range s.MatchExpressions[0].Values {
			phase, err := component.ParsePhase(value)
			if err != nil {
				return nil
			}
			step.Phases = append(step.Phases, phase)
		}
		steps = append(steps, step)
	}
	return steps
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
