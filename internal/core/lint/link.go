package lint

import (
	"math"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// link is a dependency with its components, nil for one that is not enabled. They
// are looked up once for all rules: of judging a large platform that is most of
// the work.
type link struct {
	*dependency.Dependency
	consumer, provider *model.Component
	within             bool // both ends belong to one component
	// weak is set where it is good for an order and no ground for a finding: a name
	// in free text, or something that only a failing sync makes.
	weak bool
	// refuses is set where a rule judges it and the API server refuses the consumer
	// without the provider.
	refuses bool
}

// syncFail is the place of hooks that only a failing sync runs.
const syncFail = 3

func newLink(d *dependency.Dependency) link {
	return link{
		Dependency: d, within: d.Within(),
		weak:    d.Hint || d.Consumer.Place.Hook == syncFail || d.Provider.Place.Hook == syncFail,
		refuses: d.Rule != "" && d.Strength == plan.Hard && d.Effect == dependency.Apply,
	}
}

// across reports whether both components are enabled, and are two.
func (l link) across() bool {
	return l.consumer != nil && l.provider != nil && !l.within
}

// standing are the components of a link across, each as its object stands. A consumer
// that is a PreSync hook of an app-of-apps comes before all that this applies, one
// that is a PostSync hook after it.
func (l link) standing() (consumer, provider *model.Component) {
	consumer, provider = standing(l.consumer, &l.Consumer), standing(l.provider, &l.Provider)
	switch hook := l.Consumer.Place.Hook; {
	case l.Consumer.Object.Kind == "":
	case hook > 1:
		consumer = l.consumer.Standing(math.MaxInt)
	case hook < 1:
		consumer = l.consumer.Standing(math.MinInt)
	}
	return consumer, provider
}

// standing is a component as one of its objects stands. Hooks before and after the
// sync have waves of their own.
func standing(c *model.Component, e *dependency.End) *model.Component {
	if e.Object.Kind == "" || e.Place.Hook != 1 {
		return c
	}
	return c.Standing(e.Place.Wave)
}

// step is an edge between two enabled components, by their numbers.
type step struct {
	*plan.Edge
	from, to int
}

// look finds the components of all dependencies and edges, and gives the enabled
// ones numbers in the order of their names.
func (o *order) look(in Input) {
	slices.SortFunc(o.enabled, func(a, b *model.Component) int { return strings.Compare(a.Name, b.Name) })
	o.number = make(map[string]int, len(o.enabled))
	for i, c := range o.enabled {
		o.number[c.Name] = i + 1
	}
	perRule := map[string]int{}
	for i := range in.Dependencies {
		perRule[in.Dependencies[i].Rule]++
	}
	o.links, o.byRule = make([]link, len(in.Dependencies)), map[string][]link{}
	rest := o.links
	consumer := remembering(o.byName)
	for i := range in.Dependencies {
		d := &in.Dependencies[i]
		l := newLink(d)
		l.consumer = consumer(d.Consumer.Component)
		if l.provider = l.consumer; !l.within {
			l.provider = o.byName[d.Provider.Component]
		} else {
			o.inside = append(o.inside, l)
		}
		group, known := o.byRule[d.Rule]
		if !known {
			n := perRule[d.Rule]
			group, rest = rest[:0:n], rest[n:]
		}
		o.byRule[d.Rule] = append(group, l)
	}
	o.steps = make([]step, 0, len(in.Edges))
	number := remembering(o.number)
	for i := range in.Edges {
		e := &in.Edges[i]
		from, to := number(e.From), o.number[e.To]
		if from > 0 && to > 0 && from != to {
			o.steps = append(o.steps, step{e, from - 1, to - 1})
		}
	}
}

// remembering looks names up in a map and remembers the last: what is sorted by
// component asks for one many times in a row.
func remembering[V any](m map[string]V) func(name string) V {
	var last string
	found := m[last]
	return func(name string) V {
		if name != last {
			last, found = name, m[name]
		}
		return found
	}
}

// hardGraph has the hard steps; its nodes are the numbers of the components.
func (o *order) hardGraph() *dag.Graph {
	hard := make([]dag.Edge, 0, len(o.steps))
	for _, s := range o.steps {
		if s.Strength == plan.Hard {
			hard = append(hard, dag.Edge{From: s.from, To: s.to})
		}
	}
	return dag.New(len(o.enabled), hard)
}

// ends are the components of a step.
func (o *order) ends(s step) (from, to *model.Component) {
	return o.enabled[s.from], o.enabled[s.to]
}
