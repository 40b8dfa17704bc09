package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Suggestion is a placement that keeps every hard edge: each component stands in
// a later step than everything it requires, and as few components as possible
// move.
type Suggestion struct {
	// Moves are sorted by the new place, then by name.
	Moves []Move
	// Limits are the steps whose expected time another maxUpdate shortens, in the
	// order of the steps after the moves.
	Limits []LimitChange
	// Steps are the phases that the moves need and no step of the ladder file
	// matches; none where the file leaves the steps to the phases in use.
	Steps []model.Phase
	// Stuck are the hard edges that no move inside a band of numbers can keep, in
	// the order of Plan.Edges.
	Stuck []StuckEdge
	// Before and After are the plans under the policy phases, without and with
	// the moves and limits.
	Before, After *Plan
}

// Move gives one component another place.
type Move struct {
	Component string
	// From and To are places as model.Order prints them.
	From, To string
	// Phase is the new phase, NoPhase for a component that sync waves order;
	// Wave is its new sync wave.
	Phase model.Phase
	Wave  int
	// Because are the edges at the component that today's places do not keep; none
	// for one that makes room for others.
	Because []Edge
}

// LimitChange is another maxUpdate of a step.
type LimitChange struct {
	Label    string
	Phases   []model.Phase
	From, To string
	// Saves is the expected time of the step less what it takes afterwards.
	Saves time.Duration
}

// StuckEdge is an edge that no suggestion keeps.
type StuckEdge struct {
	Edge Edge
	Why  string
}

// Suggest finds a placement with the fewest moves.
//
// The components that keep their place are a greatest set in which no two
// contradict each other: a chain of k requirements needs k places between its
// ends. That relation is transitive, so the set is a greatest antichain. Where
// sets of one size compete, those stay that stand in the band and the slot of
// their kind, then those that others require. What moves goes to the nearest
// place between what it requires and what requires it: in its band and slot and
// in a step that exists, as far as there is room.
func Suggest(in Input) (*Suggestion, error) {
	in.Policy = rollout.Phases
	before, err := Build(in)
	if err != nil {
		return nil, err
	}
	s := &Suggestion{Before: before}
	r, err := newRungs(before, in)
	if err != nil {
		return nil, err
	}
	s.Stuck = r.stuck
	moved := r.place()
	after := in
	after.Components = slices.Clone(in.Components)
	after.Ladder.Steps = slices.Clone(in.Ladder.Steps)
	for i := range after.Components {
		c := &after.Components[i]
		k, ok := r.plan.graph.number[c.Name]
		if !ok || moved[k] == r.today[k] && !r.fresh[k] {
			continue
		}
		move := Move{Component: c.Name, From: c.Order(), Phase: model.NoPhase, Because: r.because[k]}
		if len(c.Waves) > 0 || c.Object {
			if c.Waves = slices.Clone(c.Waves); len(c.Waves) == 0 {
				c.Waves = []int{0} // Argo CD's default
			}
			move.Wave = moved[k]
			c.Waves[len(c.Waves)-1] = move.Wave
		} else {
			c.Phase = model.Phase(moved[k] % tierSpan)
			move.Phase = c.Phase
		}
		move.To = c.Order()
		s.Moves = append(s.Moves, move)
	}
	slices.SortFunc(s.Moves, func(a, b Move) int {
		x, y := r.plan.graph.number[a.Component], r.plan.graph.number[b.Component]
		return cmp.Or(cmp.Compare(moved[x], moved[y]), cmp.Compare(a.Component, b.Component))
	})
	s.addSteps(&after)
	if s.After, err = Build(after); err != nil {
		return nil, fmt.Errorf("plan with the suggestion: %w", err)
	}
	if s.Limits = s.After.limitChanges(); len(s.Limits) > 0 {
		s.applyLimits(&after)
		if s.After, err = Build(after); err != nil {
			return nil, fmt.Errorf("plan with the suggestion: %w", err)
		}
	}
	return s, nil
}

// addSteps adds the steps that moves need, with the default limit of their slot.
func (s *Suggestion) addSteps(in *Input) {
	if len(in.Ladder.Steps) == 0 {
		return // one step per phase in use
	}
	for _, m := range s.Moves {
		if m.Phase < 0 || slices.ContainsFunc(in.Ladder.Steps, func(l LadderStep) bool { return slices.Contains(l.Phases, m.Phase) }) {
			continue
		}
		step := LadderStep{Phases: []model.Phase{m.Phase}}
		for _, slot := range in.Ladder.Slots {
			if slot.Offset == int(m.Phase)%100 {
				step.MaxUpdate = slot.MaxUpdate
			}
		}
		if len(in.Ladder.Sets) > 0 {
			i := slices.IndexFunc(in.Components, func(c model.Component) bool { return c.Name == m.Component })
			step.Set = in.Components[i].Domain
		}
		at := slices.IndexFunc(in.Ladder.Steps, func(l LadderStep) bool { return l.Set == step.Set && slices.Min(l.Phases) > m.Phase })
		if at < 0 {
			at = len(in.Ladder.Steps)
		}
		written := slices.ContainsFunc(in.Ladder.Steps, func(l LadderStep) bool { return l.Position.File != "" })
		in.Ladder.Steps = slices.Insert(in.Ladder.Steps, at, step)
		if written {
			s.Steps = append(s.Steps, m.Phase)
		}
	}
	slices.Sort(s.Steps)
}

func (s *Suggestion) applyLimits(in *Input) {
	for _, change := range s.Limits {
		for i, step := range in.Ladder.Steps {
			if slices.Equal(step.Phases, change.Phases) {
				in.Ladder.Steps[i].MaxUpdate = MaxUpdate{Count: atoi(change.To), Set: true}
			}
		}
	}
}

func atoi(digits string) int {
	n := 0
	for _, d := range digits {
		n = n*10 + int(d-'0')
	}
	return n
}

// tierSpan is the distance between two tiers on one line of numbers.
const tierSpan = 1000

// rungs puts the planned components on lines of numbers: the phases, those of a
// tier after those of the tier before, or the sync waves of one parent.
type rungs struct {
	plan  *Plan
	in    Input
	today []int // by number of the component
	// least and most bound where a component may go; both are today's place for
	// what cannot move.
	least, most []int
	graph       *dag.Graph // the edges that places must keep, without cycles
	order       []int
	because     map[int][]Edge
	stuck       []StuckEdge
	steps       map[model.Phase]bool
	fresh       []bool // what has no place yet: neither a phase nor a wave
}

// newRungs makes the lines of a plan, and of what it cannot place for want of a phase.
func newRungs(p *Plan, in Input) (*rungs, error) {
	if len(p.Phaseless) > 0 {
		in.unphased = true
		var err error
		if p, err = Build(in); err != nil {
			return nil, err
		}
	}
	n := len(p.graph.names)
	r := &rungs{plan: p, in: in, today: make([]int, n), least: make([]int, n), most: make([]int, n), because: map[int][]Edge{}, steps: map[model.Phase]bool{}, fresh: make([]bool, n)}
	for _, step := range in.Ladder.Steps {
		for _, phase := range step.Phases {
			if step.Position.File != "" {
				r.steps[phase] = true
			}
		}
	}
	for k, c := range p.graph.components {
		r.fresh[k] = phaseless(c) && (c.Set == "" || in.unphased && p.Steps[p.graph.step[k]].Label == Unordered)
		r.today[k], r.least[k], r.most[k] = r.rung(k, c)
	}
	var edges []dag.Edge
	knot, _ := p.graph.all.Components()
	for _, e := range p.Edges {
		if e.Strength == Soft {
			continue
		}
		from, to := p.graph.number[e.From], p.graph.number[e.To]
		if why := r.unmovable(from, to, knot); why != "" {
			if p.graph.step[to] >= p.graph.step[from] {
				r.stuck = append(r.stuck, StuckEdge{Edge: e, Why: why})
			}
			continue
		}
		if r.sameLine(from, to) {
			edges = append(edges, dag.Edge{From: from, To: to})
			if r.today[to] >= r.today[from] {
				r.because[from] = append(r.because[from], e)
				r.because[to] = append(r.because[to], e)
			}
		}
	}
	r.graph = dag.New(n, edges)
	r.order, _ = r.graph.Order() // edges inside a knot are left out
	r.narrow()
	return r, nil
}

// rung is today's number of a component, and how far it may move.
func (r *rungs) rung(k int, c *model.Component) (today, least, most int) {
	switch {
	case c.PreArgo:
		return math.MinInt32, math.MinInt32, math.MinInt32
	case len(c.Waves) > 0:
		return c.Waves[len(c.Waves)-1], math.MinInt16, math.MaxInt16
	case c.Phase < 0 && !r.fresh[k]:
		return 0, 0, 0 // Argo CD's default, on a line with nothing else
	default:
		tier := 0
		if len(r.in.Ladder.Sets) > 0 {
			tier = max(slices.Index(r.in.Ladder.Sets, c.Domain), 0) * tierSpan
		}
		return tier + max(int(c.Phase), 0), tier, tier + int(model.MaxPhase)
	}
}

// unmovable says why an edge cannot be kept by moving its ends; empty where it
// can, or needs not.
func (r *rungs) unmovable(from, to int, knot []int) string {
	a, b := r.plan.graph.components[from], r.plan.graph.components[to]
	switch {
	case knot[from] == knot[to]:
		return "the two require each other"
	case a.PreArgo && b.PreArgo:
		return "" // applied in one go
	case a.PreArgo:
		return a.Name + " is applied before Argo CD exists"
	case b.PreArgo:
		return ""
	case a.ByHand && b.ByHand:
		return "kubectl applies both, and heeds no sync waves; have one Application apply them"
	case len(a.Waves) != len(b.Waves) || len(a.Waves) > 0 && !slices.Equal(a.Waves[:len(a.Waves)-1], b.Waves[:len(b.Waves)-1]):
		return "the two have different parents, whose order decides"
	case r.least[to] > r.most[from]:
		return "its tier comes later"
	default:
		return ""
	}
}

// sameLine reports whether places of the two compare as numbers.
func (r *rungs) sameLine(from, to int) bool {
	a, b := r.plan.graph.components[from], r.plan.graph.components[to]
	return !a.PreArgo && !b.PreArgo && r.most[to] <= r.most[from]
}

// narrow tightens the bounds by what is required and what requires.
func (r *rungs) narrow() {
	for _, i := range r.order {
		for _, j := range r.graph.Requires(i) {
			r.least[i] = max(r.least[i], r.least[j]+1)
		}
	}
	for k := len(r.order) - 1; k >= 0; k-- {
		i := r.order[k]
		for _, j := range r.graph.Dependants(i) {
			r.most[i] = min(r.most[i], r.most[j]-1)
		}
	}
}

// place gives every component its new number.
func (r *rungs) place() []int {
	keep := r.keep()
	n := len(r.today)
	least, most := slices.Clone(r.least), slices.Clone(r.most)
	for i := range n {
		if keep[i] {
			least[i], most[i] = r.today[i], r.today[i]
		}
	}
	for k := len(r.order) - 1; k >= 0; k-- {
		i := r.order[k]
		for _, j := range r.graph.Dependants(i) {
			if !keep[i] {
				most[i] = min(most[i], most[j]-1)
			}
		}
	}
	out := slices.Clone(r.today)
	for _, i := range r.order {
		if keep[i] {
			continue
		}
		for _, j := range r.graph.Requires(i) {
			least[i] = max(least[i], out[j]+1)
		}
		out[i] = r.nearest(i, least[i], most[i])
	}
	return out
}

// keep chooses the components that do not move.
func (r *rungs) keep() []bool {
	n := len(r.today)
	keep := make([]bool, n)
	number := make([]int, n) // of those in a conflict, from 1
	var members []int
	var pairs [][2]int
	for i := range n {
		// Outside its bounds nothing can stay, whatever else moves.
		keep[i] = !r.fresh[i] && r.today[i] >= r.least[i] && r.today[i] <= r.most[i]
	}
	join := func(i int) {
		if number[i] == 0 {
			members = append(members, i)
			number[i] = len(members)
		}
	}
	r.conflicts(func(provider, consumer int) {
		if !keep[provider] || !keep[consumer] {
			return
		}
		join(provider)
		join(consumer)
		pairs = append(pairs, [2]int{provider, consumer})
	})
	if len(members) == 0 {
		return keep
	}
	edges := make([]dag.Edge, len(pairs))
	required := make([]bool, len(members))
	for k, p := range pairs {
		edges[k] = dag.Edge{From: number[p[1]] - 1, To: number[p[0]] - 1}
		required[number[p[0]]-1] = true
	}
	weight := make([]int64, len(members))
	for k, i := range members {
		weight[k] = 1 << 10
		band, slot := r.fits(i, r.today[i])
		if band {
			weight[k] += 4
		}
		if slot {
			weight[k] += 4
		}
		if required[k] {
			weight[k]++
		}
	}
	for k, stays := range dag.New(len(members), edges).Antichain(weight) {
		keep[members[k]] = stays
	}
	return keep
}

// conflicts yields every provider and consumer, joined by a chain of
// requirements, that leave no room for the chain between them.
func (r *rungs) conflicts(yield func(provider, consumer int)) {
	n := len(r.today)
	// Only what leads to an edge that is not kept can be in a conflict.
	leads := make([]bool, n)
	for k := len(r.order) - 1; k >= 0; k-- {
		i := r.order[k]
		for _, j := range r.graph.Dependants(i) {
			leads[i] = leads[i] || leads[j] || r.today[j] <= r.today[i]
		}
	}
	turn := make([]int, n)
	for k, i := range r.order {
		turn[i] = k
	}
	longest := make([]int, n)
	for _, provider := range r.order {
		if !leads[provider] {
			continue
		}
		clear(longest)
		for _, i := range r.order[turn[provider]:] {
			if i != provider && longest[i] == 0 {
				continue
			}
			if i != provider && r.today[i] < r.today[provider]+longest[i] {
				yield(provider, i)
			}
			for _, j := range r.graph.Dependants(i) {
				longest[j] = max(longest[j], longest[i]+1)
			}
		}
	}
}

// nearest chooses a number between two bounds for a component that moves.
func (r *rungs) nearest(i, least, most int) int {
	c := r.plan.graph.components[i]
	if len(c.Waves) > 0 || c.Phase < 0 && !r.fresh[i] {
		return min(max(r.today[i], least), max(least, most))
	}
	best, cost := least, math.MaxInt
	for at := least; at <= most; at++ {
		band, slot := r.fits(i, at)
		this := max(at-r.today[i], r.today[i]-at)
		if !band {
			this += 1 << 20
		}
		switch {
		case slot:
		case r.afterRuntime(i, at):
			this += 1 << 13
		default:
			this += 1 << 15
		}
		if len(r.steps) > 0 && !r.steps[model.Phase(at%tierSpan)] {
			this += 1 << 12
		}
		if this < cost {
			best, cost = at, this
		}
	}
	return best
}

// afterRuntime reports whether a number is in a slot of what comes after the
// runtimes, where Secrets and configuration stand that talk to a running system.
func (r *rungs) afterRuntime(i, at int) bool {
	c := r.plan.graph.components[i]
	if c.Type != model.Secrets && c.Type != model.Config {
		return false
	}
	return slices.ContainsFunc(r.in.Ladder.Slots, func(s Slot) bool {
		return s.Offset == at%100 && slices.Contains(s.Types, model.Bootstrap)
	})
}

// fits reports whether a number is in the band of the component's domain, and in
// the slot of its type. A domain without a band and a type without a slot fit
// everywhere.
func (r *rungs) fits(i, at int) (band, slot bool) {
	c := r.plan.graph.components[i]
	if len(c.Waves) > 0 {
		return true, true
	}
	phase := model.Phase(at % tierSpan)
	band, slot = true, true
	for _, b := range r.in.Ladder.Bands {
		if b.Name == c.Domain {
			band = phase >= b.From && phase <= b.To
			break
		}
	}
	for _, s := range r.in.Ladder.Slots {
		if !slices.Contains(s.Types, c.Type) {
			continue
		}
		if slot = s.Offset == int(phase)%100; slot {
			break
		}
	}
	return band, slot
}
