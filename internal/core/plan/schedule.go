package plan

import (
	"container/heap"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// measure fills in the critical path, the expected schedule and the bound.
func (p *Plan) measure() {
	p.CriticalPath = p.criticalPath()
	p.Schedule = p.graph.simulate(p.Policy)
	for _, s := range p.Schedule {
		p.Makespan = max(p.Makespan, s.End)
	}
	p.Bound = p.bound()
}

func (p *Plan) criticalPath() Path {
	g := p.graph
	if p.Policy == rollout.Serial {
		path := Path{Components: p.Order}
		for _, d := range g.duration {
			path.Duration += d
		}
		return path
	}
	path := Path{Duration: time.Duration(g.chainTime)}
	for _, i := range g.chain {
		if i < len(g.names) {
			path.Components = append(path.Components, g.names[i])
		}
	}
	return path
}

// bound is a lower bound of the makespan; the package documentation defines it.
func (p *Plan) bound() time.Duration {
	g := p.graph
	var work time.Duration
	for _, d := range g.duration {
		work += d
	}
	switch p.Policy {
	case rollout.Serial:
		return work
	case rollout.Edges:
		return max(p.CriticalPath.Duration, work/time.Duration(g.cap))
	default:
		return g.boundOfSteps()
	}
}

// boundOfSteps adds up the bounds of the steps, which do not overlap.
func (g *graph) boundOfSteps() time.Duration {
	steps := len(g.limits)
	work, chain := make([]time.Duration, steps), make([]time.Duration, steps)
	longest := make([]time.Duration, len(g.names)) // chain inside the step, up to the component
	for _, i := range g.order {
		k := g.step[i]
		for _, j := range g.gates.Requires(i) {
			if g.step[j] == k {
				longest[i] = max(longest[i], longest[j])
			}
		}
		longest[i] += g.duration[i]
		work[k] += g.duration[i]
		chain[k] = max(chain[k], longest[i])
	}
	var total time.Duration
	for k, limit := range g.limits {
		least := chain[k]
		if limit > 0 {
			least = max(least, work[k]/time.Duration(limit))
		}
		total += least
	}
	return total
}

// simulation is a rollout in which everything takes as long as expected. It
// starts components by the rule of the state machine: whenever one becomes
// Healthy, whatever may start starts, greatest rank first. A test holds it
// against the state machine itself.
type simulation struct {
	g       *graph
	policy  rollout.Policy
	turn    []int // position in the order
	unmet   []int
	left    []int // components of a step that are not Healthy
	settled int   // first step with any left
	waiting [][]int
	ready   heapOf[candidate]
	running heapOf[end]
	spans   []Span
}

type candidate struct {
	i, turn int
	rank    int64
}

// Before puts the greater rank first, then the order.
func (c candidate) Before(d candidate) bool {
	if c.rank != d.rank {
		return c.rank > d.rank
	}
	return c.turn < d.turn
}

type end struct {
	at      time.Duration
	i, turn int
}

// Before puts the earlier end first, then the order.
func (e end) Before(f end) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.turn < f.turn
}

func (g *graph) simulate(policy rollout.Policy) []Span {
	if policy == rollout.Serial {
		return g.oneByOne()
	}
	n := len(g.names)
	s := &simulation{
		g: g, policy: policy, turn: make([]int, n), unmet: make([]int, n),
		left: make([]int, len(g.limits)), waiting: make([][]int, len(g.limits)+1),
		spans: make([]Span, 0, n),
	}
	for turn, i := range g.order {
		s.turn[i] = turn
		s.unmet[i] = len(g.gates.Requires(i))
		s.left[g.step[i]]++
	}
	for _, i := range g.order {
		if s.unmet[i] == 0 {
			s.offer(i)
		}
	}
	s.release()
	s.start(0)
	for len(s.running) > 0 {
		e := heap.Pop(&s.running).(end)
		s.healthy(e.i)
		s.start(e.at)
	}
	return s.spans
}

// offer makes ready a component whose requirements are Healthy, or lets it wait
// for its steps.
func (s *simulation) offer(i int) {
	if after := s.g.after[i]; after > s.settled {
		s.waiting[after] = append(s.waiting[after], i)
		return
	}
	heap.Push(&s.ready, candidate{i: i, turn: s.turn[i], rank: s.g.rank[i]})
}

// release offers what waited for the steps that have become settled.
func (s *simulation) release() {
	for s.settled < len(s.left) && s.left[s.settled] == 0 {
		s.settled++
		for _, i := range s.waiting[s.settled] {
			s.offer(i)
		}
		s.waiting[s.settled] = nil
	}
}

func (s *simulation) healthy(i int) {
	for _, d := range s.g.gates.Dependants(i) {
		if s.unmet[d]--; s.unmet[d] == 0 {
			s.offer(int(d))
		}
	}
	s.left[s.g.step[i]]--
	s.release()
}

// start starts what may start. Under phases everything that is ready or running
// belongs to one step, whose limit counts; a step started by hand is taken as
// approved at once.
func (s *simulation) start(now time.Duration) {
	limit := s.g.cap
	if s.policy == rollout.Phases {
		limit = 0
		if s.settled < len(s.g.limits) {
			limit = s.g.limits[s.settled]
		}
	}
	for len(s.ready) > 0 && (limit <= 0 || len(s.running) < limit) {
		c := heap.Pop(&s.ready).(candidate)
		span := Span{Component: s.g.names[c.i], Start: now, End: now + s.g.duration[c.i]}
		s.spans = append(s.spans, span)
		heap.Push(&s.running, end{at: span.End, i: c.i, turn: c.turn})
	}
}

func (g *graph) oneByOne() []Span {
	spans := make([]Span, 0, len(g.names))
	var now time.Duration
	for _, i := range g.order {
		spans = append(spans, Span{Component: g.names[i], Start: now, End: now + g.duration[i]})
		now += g.duration[i]
	}
	return spans
}

// heapOf adapts a slice of ordered values to container/heap.
type heapOf[T interface{ Before(T) bool }] []T

func (h heapOf[T]) Len() int           { return len(h) }
func (h heapOf[T]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h heapOf[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heapOf[T]) Push(x any)        { *h = append(*h, x.(T)) }
func (h *heapOf[T]) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
