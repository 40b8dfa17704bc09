package lint

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// A sync wave is moved for the sake of one requirement, and others hang on it: what would
// break one of them is no advice.

// move is one way to put two components, or the parents at which their paths part, in
// order: it gives one of them another wave.
type move struct {
	of    []int // the components that move
	level int   // of their waves
	wave  int
	// breaks are the hard requirements that hold as it is, or that nothing orders, and that
	// would not hold: those of what moves where it moves to the front, else those on it.
	breaks []dag.Edge
}

// moves are the two ways, the consumer behind the provider and the provider before the
// consumer. ok is false where the paths do not part at waves.
func (o *order) moves(consumer, provider *model.Component) (later, earlier move, ok bool) {
	a, b := apart(consumer, provider)
	level := slices.Index(path(consumer), a)
	if level < 0 || level != slices.Index(path(provider), b) || level >= min(len(consumer.Waves), len(provider.Waves)) {
		return later, earlier, false
	}
	later = move{of: o.moved(a), level: level, wave: provider.Waves[level] + 1}
	earlier = move{of: o.moved(b), level: level, wave: consumer.Waves[level] - 1}
	for _, i := range later.of {
		c := later.at(o.enabled[i])
		for _, d := range o.hard().Dependants(i) {
			if !slices.Contains(later.of, int(d)) && o.compare(o.enabled[i], o.enabled[d]) <= 0 && o.compare(o.enabled[d], c) < 0 {
				later.breaks = append(later.breaks, dag.Edge{From: int(d), To: i})
			}
		}
	}
	for _, i := range earlier.of {
		c := earlier.at(o.enabled[i])
		for _, d := range o.hard().Requires(i) {
			if !slices.Contains(earlier.of, int(d)) && o.compare(o.enabled[d], o.enabled[i]) <= 0 && o.compare(c, o.enabled[d]) < 0 {
				earlier.breaks = append(earlier.breaks, dag.Edge{From: i, To: int(d)})
			}
		}
	}
	return later, earlier, true
}

// moved are the components that move with something: itself, what it applies, and what
// comes of the same ApplicationSet, which has the wave.
func (o *order) moved(name string) []int {
	var all []int
	set := o.setOf(name)
	moves := func(p string) bool { return p == name || set != "" && o.setOf(p) == set }
	for i, c := range o.enabled {
		if moves(c.Name) || len(c.Parents) > 1 && slices.ContainsFunc(c.Parents[1:], moves) {
			all = append(all, i)
		}
	}
	return all
}

// setOf is the ApplicationSet that makes an Application, which has its sync wave; "" for none.
func (o *order) setOf(name string) string {
	if c, ok := o.byName[name]; ok && o.made[name] == "" {
		return c.Set
	}
	return o.made[name]
}

// waved is what has the sync wave of an Application: its ApplicationSet, or itself.
func (o *order) waved(name string) string {
	if set := o.setOf(name); set != "" {
		return "ApplicationSet " + set
	}
	return name
}

// at is a component where the move puts it.
func (m move) at(c *model.Component) *model.Component {
	there := *c
	there.Waves = slices.Clone(c.Waves)
	there.Waves[m.level] = m.wave
	return &there
}

// way says how to put two in order by waves, where names are what has the waves.
func (o *order) way(consumer, provider *model.Component, a, b string) string {
	later, earlier, ok := o.moves(consumer, provider)
	switch {
	case !ok || len(later.breaks)+len(earlier.breaks) == 0:
		return fmt.Sprintf("give %s a later sync wave than %s, or %s an earlier one", a, b, b)
	case len(later.breaks) == 0:
		return fmt.Sprintf("give %s a later sync wave than %s", a, b)
	case len(earlier.breaks) == 0:
		return fmt.Sprintf("give %s an earlier sync wave than %s", b, a)
	}
	if back := o.back(later, earlier); back != "" {
		return fmt.Sprintf("%s and %s require each other (%s; %s): split one of them, so that what the other needs comes first",
			a, b, back, o.forward(consumer, provider))
	}
	dependant := o.enabled[later.breaks[0].From].Name
	if others := countFrom(later.breaks) - 1; others > 0 {
		return fmt.Sprintf("give %s a later sync wave than %s, and %s and %d more, which require it, a later one still", a, b, dependant, others)
	}
	return fmt.Sprintf("give %s a later sync wave than %s, and %s, which requires it, a later one still", a, b, dependant)
}

// back says how what would move to the front requires what would move to the back, "" where
// it does not.
func (o *order) back(later, earlier move) string {
	for _, s := range later.breaks {
		if slices.Contains(earlier.of, s.From) {
			return o.forward(o.enabled[s.From], o.enabled[s.To])
		}
	}
	for _, i := range earlier.of {
		for _, d := range o.hard().AllRequires(i) {
			at := slices.IndexFunc(later.breaks, func(s dag.Edge) bool { return s.From == d })
			if at >= 0 {
				return fmt.Sprintf("%s: requires %s by way of %s", o.enabled[i].Name, o.enabled[later.breaks[at].To].Name, o.enabled[d].Name)
			}
		}
	}
	return ""
}

// forward says what a component requires of another.
func (o *order) forward(consumer, provider *model.Component) string {
	for _, s := range o.steps {
		if s.From == consumer.Name && s.To == provider.Name {
			return s.From + ": " + s.Reason
		}
	}
	return consumer.Name + ": requires " + provider.Name
}

// countFrom counts what requires something in steps.
func countFrom(steps []dag.Edge) int {
	from := map[int]bool{}
	for _, s := range steps {
		from[s.From] = true
	}
	return len(from)
}
