package lint

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// place says where a component stands, for people: "phase 350", "wave 3", "step
// 2 of ApplicationSet apps".
func (o *order) place(c *model.Component) string {
	step := ""
	if c.Set != "" && c.Step > 0 {
		step = fmt.Sprintf("step %d of ApplicationSet %s", c.Step, c.Set)
		if o.split[setStep{c.Set, c.Step}] && c.Phase >= 0 || o.isAbreast(c) {
			step = "phase " + c.Phase.String() + " in " + step
		}
	}
	switch {
	case o.flux != nil:
		return "ordered by dependsOn"
	case c.PreArgo:
		return "before Argo CD"
	case len(c.Waves) > 0:
		return strings.Join(slices.DeleteFunc(append(walked(c), step), func(part string) bool { return part == "" }), ", ")
	case step != "":
		return step
	case c.Phase >= 0 && o.ladder.Layout == plan.Tiers:
		return "phase " + c.Phase.String() + " of tier " + c.Domain
	case c.Phase >= 0:
		return "phase " + c.Phase.String()
	default:
		return "no place"
	}
}

// hookPlaces are the waves of link.standing that are none.
var hookPlaces = map[int]string{math.MinInt: "before the sync", math.MaxInt: "after the sync"}

// walked says the path of sync waves and steps that leads to a component.
func walked(c *model.Component) []string {
	var all []string
	var waves []int
	flush := func() {
		if len(waves) > 0 {
			at := model.Component{Waves: waves, Phase: model.NoPhase}
			all = append(all, map[bool]string{true: "wave ", false: "waves "}[len(waves) == 1]+at.Order())
		}
		waves = nil
	}
	for i, w := range c.Waves {
		set, isStep := c.StepsAt(i)
		if hook := hookPlaces[w]; hook != "" {
			flush()
			all = append(all, hook)
			continue
		}
		if !isStep {
			waves = append(waves, w)
			continue
		}
		flush()
		if set != c.Set { // else the step is told of the component itself
			all = append(all, fmt.Sprintf("step %d of ApplicationSet %s", w, set))
		}
	}
	flush()
	return all
}

// atPlace is a place as the end of a sentence.
func atPlace(place string) string {
	if strings.HasPrefix(place, "before ") || strings.HasPrefix(place, "after ") {
		return "is applied " + place
	}
	return "stands at " + place
}

// placed is the evidence of where a component stands.
func (o *order) placed(c *model.Component) finding.Evidence {
	field, at := "", c.Position
	if p, ok := c.Fields["rolloutPhase"]; ok {
		field, at = c.PhaseField(), p
	}
	text := c.Name + " " + atPlace(o.place(c))
	if wave, ok := o.valued[c.Name]; ok {
		at = wave.Position
		text += ", by the value " + wave.Of
	}
	return finding.Evidence{Text: text, File: at.File, Line: at.Line, Field: field}
}

// ofParent reports whether an end of a link is an object of the app-of-apps that applies
// the other end: the object has the wave then, not the app-of-apps.
func ofParent(e dependency.End, c, other *model.Component) bool {
	return e.Object.Kind != "" && c.AppOfApps && slices.Contains(other.Parents, c.Name)
}

// placedEnd is the evidence of where an end of a link stands.
func (o *order) placedEnd(e dependency.End, c, other *model.Component) finding.Evidence {
	if !ofParent(e, c, other) || e.Position.File == "" {
		return o.placed(c)
	}
	return where(e.Position, "%s %s", who(e), atPlace(o.place(c)))
}
