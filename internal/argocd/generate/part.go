package generate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// part splits the stages that edges run inside of, so that every part has only
// providers in earlier ones.
func (b *builder) part(inside map[int][]plan.Edge) error {
	var problems []error
	var out []stage
	for i, s := range b.stages {
		edges, why := b.binding(s, inside[i])
		for _, e := range inside[i] {
			if !slices.ContainsFunc(edges, func(kept plan.Edge) bool { return kept.From == e.From && kept.To == e.To }) {
				b.warn(position(e), "%s %s inside %s, where nothing orders the two: it is left to retries", e.From, about(e), s.named())
			}
		}
		if len(edges) == 0 {
			out = append(out, s)
			continue
		}
		if b.layout == plan.AppOfApps && b.written(s) {
			for _, e := range edges {
				problems = append(problems, b.edgeError(e, fmt.Sprintf("both have the sync wave %s, in which Argo CD applies them together; give %s a later one", s.label, e.From)))
			}
			continue
		}
		parts := s.apart(edges)
		b.warn(position(edges[0]), "%s %s inside %s, %s: it is generated as %d %s", edges[0].From, about(edges[0]), s.named(), why, len(parts), b.pieces())
		out = append(out, parts...)
	}
	b.stages = out
	return errors.Join(problems...)
}

func (b *builder) pieces() string {
	if b.layout == plan.AppOfApps {
		return "sync waves"
	}
	return "RollingSync steps"
}

func (s stage) named() string {
	if s.label == plan.Unordered {
		return "the step of those without a phase"
	}
	if len(s.phases) == 0 {
		return "the sync wave " + s.label
	}
	return "the step " + s.where()
}

// binding are the edges inside a stage that must be kept, and why. Hard ones are.
// Soft ones heal by retrying, unless those that wait can take every place of the
// stage, which none of them gives back before what it waits for is there.
func (b *builder) binding(s stage, edges []plan.Edge) (binding []plan.Edge, why string) {
	waiting := map[string]bool{}
	for _, e := range edges {
		waiting[e.From] = true
		if e.Strength == plan.Hard {
			binding = append(binding, e)
		}
	}
	switch {
	case b.layout == plan.AppOfApps && !b.written(s) && len(s.phases) == 0:
		return edges, "which nothing else orders"
	case b.layout == plan.AppOfApps:
		return binding, "which Argo CD applies together"
	case s.limit > 0 && len(waiting) >= s.limit && len(s.components) > s.limit:
		return edges, fmt.Sprintf("where maxUpdate %s could be used up by those that wait", s.maxUpdate)
	default:
		return binding, "where RollingSync orders nothing"
	}
}

// apart are the parts of a stage: a component stands in the part after those of
// everything it requires in the stage.
func (s stage) apart(edges []plan.Edge) []stage {
	requires := map[string][]string{}
	for _, e := range edges {
		requires[e.From] = append(requires[e.From], e.To)
	}
	depths := map[string]int{}
	var depth func(name string) int
	depth = func(name string) int {
		if d, ok := depths[name]; ok {
			return d
		}
		d := 0
		for _, to := range requires[name] {
			d = max(d, depth(to)+1) // the plan has no cycle left
		}
		depths[name] = d
		return d
	}
	most := 0
	for _, name := range s.components {
		most = max(most, depth(name))
	}
	parts := make([]stage, most+1)
	for i := range parts {
		parts[i] = s
		parts[i].part, parts[i].parts, parts[i].components = i+1, most+1, nil
	}
	for _, name := range s.components {
		to := &parts[depths[name]]
		to.components = append(to.components, name)
	}
	return parts
}

// written reports whether somebody wrote the sync waves of a stage.
func (b *builder) written(s stage) bool {
	return len(s.components) > 0 && !slices.ContainsFunc(s.components, func(name string) bool { return len(b.components[name].Waves) != 1 })
}

// inWaves leaves out the steps that have no component: a sync wave exists by what
// is in it.
func (b *builder) inWaves() {
	b.stages = slices.DeleteFunc(b.stages, func(s stage) bool { return len(s.components) == 0 })
}

// numberWaves gives every stage its sync wave: the one that is written, else the
// phase. Where that does not tell the stages apart they are counted from 1.
func (b *builder) numberWaves() error {
	rising, manual := true, []string{}
	for i := range b.stages {
		s := &b.stages[i]
		switch {
		case b.written(*s):
			s.wave = b.components[s.components[0]].Waves[0]
		case len(s.phases) > 0 && s.parts == 0:
			s.wave = int(s.phases[0])
		default:
			rising = false
		}
		rising = rising && (i == 0 || s.wave > b.stages[i-1].wave)
		if s.limit < 0 {
			manual = append(manual, s.where())
		}
	}
	if len(manual) > 0 {
		return b.refuse(b.platform.Ladder.Position, "sync waves start by themselves; use the layout single or tiers",
			"the step %s has maxUpdate 0, to be started by hand", strings.Join(manual, ", "))
	}
	if rising {
		return nil
	}
	if slices.ContainsFunc(b.stages, b.written) {
		b.warn(b.platform.Ladder.Position, "the sync waves that are written do not tell every step apart: they are counted anew from 1")
	}
	for i := range b.stages {
		b.stages[i].wave = i + 1
	}
	return nil
}

// phaseOf is the label of the phase of a component; empty for none.
func phaseOf(c *model.Component) string { return c.Phase.String() }
