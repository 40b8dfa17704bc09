package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// graph holds the planned components as numbers, by step and then by name.
type graph struct {
	components []*model.Component
	names      []string
	number     map[string]int
	step       []int // index into Plan.Steps
	limits     []int // by step
	duration   []time.Duration
	cap        int // components in flight under the policy edges
	defaults   Ladder

	all   *dag.Graph // Plan.Edges
	gates *dag.Graph // what the policy gates on: part of all, without cycles
	after []int      // steps before this index are waited for
	order []int
	rank  []int64 // heaviest chain of expected work that begins with it
	chain []int   // heaviest chain of all, over nodes of waits
	// chainTime is the work of chain, in nanoseconds.
	chainTime int64
}

// Build makes the plan. It fails for input that no plan can be made of (two
// components of one name, an unknown policy); what is wrong with the order is
// part of the plan.
func Build(in Input) (*Plan, error) {
	if !slices.Contains(rollout.Policies(), in.Policy) {
		return nil, fmt.Errorf("plan: policy %q is not one of phases, edges, serial", in.Policy)
	}
	placed, err := in.place()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Environment: in.Environment, Policy: in.Policy, Only: in.Only,
		Steps: placed.steps, Unplaced: placed.unplaced, Phaseless: placed.phaseless, graph: number(in, placed),
	}
	p.classify(in.Edges)
	p.gate()
	p.fillSteps(in.Components, placed)
	p.measure()
	return p, nil
}

// place sorts the components into the steps of the plan.
func (in Input) place() (placement, error) {
	placed, err := placeAll(in.Components, in.Ladder, in.unphased)
	if err != nil {
		return placement{}, err
	}
	if in.Ladder.Layout == DependsOn {
		return layered(in, placed), nil
	}
	return untangle(in, placed), nil
}

// number gives the planned components their numbers.
func number(in Input, placed placement) *graph {
	g := &graph{number: make(map[string]int), defaults: in.Ladder}
	g.cap = cmp.Or(in.MaxInFlight, in.Ladder.MaxInFlight, DefaultMaxInFlight)
	var planned []int
	for i := range in.Components {
		if in.Components[i].Enabled && placed.stepOf[i] >= 0 {
			planned = append(planned, i)
		}
	}
	slices.SortFunc(planned, func(i, j int) int {
		return cmp.Or(
			cmp.Compare(placed.stepOf[i], placed.stepOf[j]),
			strings.Compare(in.Components[i].Name, in.Components[j].Name),
		)
	})
	for k, i := range planned {
		c := &in.Components[i]
		g.number[c.Name] = k
		g.components = append(g.components, c)
		g.names = append(g.names, c.Name)
		g.step = append(g.step, placed.stepOf[i])
		g.duration = append(g.duration, expected(in, c))
	}
	for _, s := range placed.steps {
		g.limits = append(g.limits, s.Limit)
	}
	return g
}

// expected is the expected time of a component from start to Healthy.
func expected(in Input, c *model.Component) time.Duration {
	if d, ok := in.Durations[c.Name]; ok {
		return max(d, 0)
	}
	if d, ok := in.Ladder.Durations[c.Type]; ok {
		return max(d, 0)
	}
	return DefaultDuration(c.Type)
}

// edge is an Edge between planned components, as numbers.
type edge struct {
	from, to int
	key      uint64 // order by name of consumer, then provider
	e        *Edge
}

// classify sorts the edges into those the plan keeps, those against the order,
// soft ones that would close a cycle, and those that lead out of the plan; and
// finds the cycles.
func (p *Plan) classify(edges []Edge) {
	g := p.graph
	byName := slices.Clone(g.names)
	slices.Sort(byName)
	rank := make([]uint64, len(byName))
	for k, name := range byName {
		rank[g.number[name]] = uint64(k)
	}
	inside := make([]edge, 0, len(edges))
	for i := range edges {
		e := &edges[i]
		from, known := g.number[e.From]
		to, also := g.number[e.To]
		switch {
		case e.From == e.To:
		case known && also:
			inside = append(inside, edge{from: from, to: to, key: rank[from]<<32 | rank[to], e: e})
		default:
			p.Unplanned = append(p.Unplanned, *e)
		}
	}
	sortEdges(p.Unplanned)
	slices.SortStableFunc(inside, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.key, b.key), compareLabels(a.e, b.e))
	})
	closing := p.closing(inside)
	kept := make([]dag.Edge, 0, len(inside))
	p.Edges = make([]Edge, 0, len(inside))
	for k, e := range inside {
		if closing[k] {
			p.Dropped = append(p.Dropped, *e.e)
			continue
		}
		kept = append(kept, dag.Edge{From: e.from, To: e.to})
		p.Edges = append(p.Edges, *e.e)
		if g.step[e.to] > g.step[e.from] {
			p.Against = append(p.Against, *e.e)
		}
	}
	g.all = dag.New(len(g.names), kept)
	for _, cycle := range g.all.Cycles() {
		p.Cycles = append(p.Cycles, nameCycle(cycle, g.names))
	}
	slices.SortFunc(p.Cycles, slices.Compare)
}

// closing marks the soft edges that would close a cycle with the hard ones and
// the soft ones before them; those that agree with the order of the steps are
// kept first.
func (p *Plan) closing(edges []edge) []bool {
	g := p.graph
	n := len(g.names)
	hard, all := make([]dag.Edge, 0, len(edges)), make([]dag.Edge, 0, len(edges))
	for _, e := range edges {
		d := dag.Edge{From: e.from, To: e.to}
		all = append(all, d)
		if e.e.Strength != Soft {
			hard = append(hard, d)
		}
	}
	closing := make([]bool, len(edges))
	knot, knots := dag.New(n, all).Components()
	if knots == n || len(hard) == len(all) {
		return closing // no cycle, or none that a soft edge has a part in
	}
	// What hard edges tie together counts as one node, so that a cycle of hard
	// edges, which is reported, does not hide the others.
	tie, ties := dag.New(n, hard).Components()
	var certain []dag.Edge
	var open []int
	for k, e := range edges {
		switch {
		case e.e.Strength != Soft || knot[e.from] != knot[e.to]:
			if tie[e.from] != tie[e.to] {
				certain = append(certain, dag.Edge{From: tie[e.from], To: tie[e.to]})
			}
		default:
			open = append(open, k)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int {
		against := func(k int) int {
			if g.step[edges[k].to] > g.step[edges[k].from] {
				return 1
			}
			return 0
		}
		return against(a) - against(b)
	})
	builder, ok := dag.NewBuilder(dag.New(ties, certain))
	for _, k := range open {
		e := edges[k]
		closing[k] = !ok || !builder.Add(dag.Edge{From: tie[e.from], To: tie[e.to]})
	}
	return closing
}

// nameCycle names a cycle, beginning and ending with its least name.
func nameCycle(cycle []int, names []string) []string {
	ring := make([]string, len(cycle)-1)
	for k := range ring {
		ring[k] = names[cycle[k]]
	}
	least := slices.Index(ring, slices.Min(ring))
	named := append(slices.Clone(ring[least:]), ring[:least]...)
	return append(named, named[0])
}

func sortEdges(edges []Edge) {
	slices.SortStableFunc(edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), compareLabels(&a, &b))
	})
}

func compareLabels(a, b *Edge) int {
	return cmp.Or(
		strings.Compare(string(a.Strength), string(b.Strength)),
		strings.Compare(string(a.Basis), string(b.Basis)),
		strings.Compare(a.Reason, b.Reason),
	)
}

// fillSteps lists the components of every step.
func (p *Plan) fillSteps(components []model.Component, placed placement) {
	for _, i := range p.graph.order {
		s := &p.Steps[p.graph.step[i]]
		s.Components = append(s.Components, p.graph.names[i])
		p.Order = append(p.Order, p.graph.names[i])
	}
	for i := range components {
		if c := &components[i]; !c.Enabled && placed.stepOf[i] >= 0 {
			s := &p.Steps[placed.stepOf[i]]
			s.Disabled = append(s.Disabled, c.Name)
		}
	}
	for i := range p.Steps {
		slices.Sort(p.Steps[i].Disabled)
	}
}

// BlastRadius lists what cannot become Healthy, or not stay it, if the component
// is not: its transitive dependants over Edges, sorted by name.
func (p *Plan) BlastRadius(name string) []string {
	return p.named(name, p.graph.all.AllDependants)
}

// Dependencies lists everything the component requires, directly or not, sorted
// by name.
func (p *Plan) Dependencies(name string) []string {
	return p.named(name, p.graph.all.AllRequires)
}

func (p *Plan) named(name string, reach func(int) []int) []string {
	i, ok := p.graph.number[name]
	if !ok {
		return nil
	}
	var names []string
	for _, j := range reach(i) {
		if j != i {
			names = append(names, p.graph.names[j])
		}
	}
	slices.Sort(names)
	return names
}

// Expected is the expected time of a planned component from start to Healthy.
func (p *Plan) Expected(name string) time.Duration {
	i, ok := p.graph.number[name]
	if !ok {
		return 0
	}
	return p.graph.duration[i]
}
