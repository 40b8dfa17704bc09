package lint

import (
	"cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// findAbreast finds the ApplicationSets that roll descriptors out by phases without a
// parent that orders them, where there are several.
func (o *order) findAbreast() {
	sets := map[string]bool{}
	for _, c := range o.enabled {
		if c.Set != "" && c.Step > 0 && c.Phase >= 0 && !c.Object && len(c.Waves) == 0 {
			sets[c.Set] = true
		}
	}
	if len(sets) > 1 {
		o.abreast = sets
	}
}

// isAbreast reports whether a component is of an ApplicationSet that Argo CD rolls out side
// by side with others, which steps-against-plan tells once. The phases of their descriptors
// are the order that is meant, and by which the plan goes.
func (o *order) isAbreast(c *model.Component) bool {
	return o.abreast[c.Set] && c.Phase >= 0 && len(c.Waves) == 0
}

// byPhases compares two components that have phases as the plan does.
func (o *order) byPhases(a, b *model.Component) int {
	if s, t := o.stepAt(a), o.stepAt(b); s >= 0 && t >= 0 {
		return cmp.Compare(s, t)
	}
	return cmp.Compare(a.Phase, b.Phase)
}
