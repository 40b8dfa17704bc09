package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/dag"
)

// wire checks the spec and builds what never changes: names, requirements, and
// the groups of the order.
func (m *Machine) wire() error {
	spec := m.state.Spec
	if !slices.Contains(Policies(), spec.Policy) {
		return fmt.Errorf("rollout policy %q is not one of phases, edges, serial", spec.Policy)
	}
	if spec.OnFailure != Halt && spec.OnFailure != Continue {
		return fmt.Errorf("failure policy %q is not one of halt, continue", spec.OnFailure)
	}
	n := len(spec.Components)
	m.byName = make(map[string]int, n)
	for i, c := range spec.Components {
		if _, twice := m.byName[c.Name]; twice || c.Name == "" {
			return fmt.Errorf("component name %q is empty or used twice", c.Name)
		}
		m.byName[c.Name] = i
		if c.Step < 0 || c.Step >= len(spec.Steps) || c.After < 0 || c.After > len(spec.Steps) {
			return fmt.Errorf("component %s is in step %d after %d of %d steps", c.Name, c.Step, c.After, len(spec.Steps))
		}
	}
	m.group, m.after = make([]int, n), make([]int, n)
	groups := len(spec.Steps)
	for i, c := range spec.Components {
		m.group[i] = c.Step
		switch spec.Policy {
		case Phases:
			m.after[i] = c.Step
		case Edges:
			m.after[i] = c.After
		case Serial:
			m.group[i], m.after[i], groups = i, i, n
		}
	}
	m.unsettled = make([]int, groups)
	var edges []dag.Edge
	for i, c := range spec.Components {
		for _, name := range c.Requires {
			j, ok := m.byName[name]
			if !ok {
				return fmt.Errorf("component %s requires %q, which the rollout lacks", c.Name, name)
			}
			edges = append(edges, dag.Edge{From: i, To: j})
		}
	}
	m.graph = dag.New(n, edges)
	if err := m.checkWaits(edges, groups); err != nil {
		return err
	}
	m.order, _ = m.graph.Order()
	return nil
}

// checkWaits refuses a spec in which components wait for each other, through
// requirements or through the order, so that nobody would ever start. Group k
// is the node n+k: it waits for its components and for the group before.
func (m *Machine) checkWaits(edges []dag.Edge, groups int) error {
	n := len(m.group)
	edges = slices.Clone(edges)
	for i := range n {
		edges = append(edges, dag.Edge{From: n + m.group[i], To: i})
		if k := m.after[i]; k > 0 {
			edges = append(edges, dag.Edge{From: i, To: n + k - 1})
		}
	}
	for k := 1; k < groups; k++ {
		edges = append(edges, dag.Edge{From: n + k, To: n + k - 1})
	}
	cycles := dag.New(n+groups, edges).Cycles()
	if len(cycles) == 0 {
		return nil
	}
	var names []string
	for _, i := range cycles[0] {
		if i < n {
			names = append(names, m.state.Spec.Components[i].Name)
		}
	}
	return fmt.Errorf("components wait for each other: %s", strings.Join(names, " -> "))
}

// reindex derives every index from the state. Events that change much at once
// (a recovery, a retry) call it instead of keeping each index up to date.
func (m *Machine) reindex() {
	spec, n := &m.state.Spec, len(m.state.Components)
	m.index = index{
		count: make(map[Status]int), stepInFlight: make([]int, len(spec.Steps)),
		unmet: make([]int, n), metAt: make([]time.Time, n), dead: make([]bool, n),
		unsettled: make([]int, len(m.unsettled)), settledAt: make([]time.Time, len(m.unsettled)+1),
		timers: newTimers(n),
	}
	keys := make([]queueKey, n)
	for i, c := range spec.Components {
		keys[i] = queueKey{after: m.after[i], step: -1}
		if s := spec.Steps[c.Step]; s.Limit > 0 || s.held() {
			keys[i].step = c.Step
		}
	}
	m.ready = newQueues(keys, func(i, j int32) bool {
		if a, b := spec.Components[i].Rank, spec.Components[j].Rank; a != b {
			return a > b
		}
		return i < j
	})
	for _, i := range m.order {
		c := &m.state.Components[i]
		m.count[c.Status]++
		if c.Status.InFlight() {
			m.inFlight++
			m.stepInFlight[spec.Components[i].Step]++
		}
		for _, j := range m.graph.Requires(i) {
			r := &m.state.Components[j]
			if r.Status != Done {
				m.unmet[i]++
			} else if r.HealthyAt.After(m.metAt[i]) {
				m.metAt[i] = r.HealthyAt
			}
			if c.Status == Blocked && (r.Status.Bad() || m.dead[j]) && !m.dead[i] {
				m.dead[i] = true
				m.deadCount++
			}
		}
	}
	for i := range n {
		if !m.isSettled(i) {
			m.unsettled[m.group[i]]++
		} else if at, k := m.state.Components[i].settledSince(), m.group[i]+1; at.After(m.settledAt[k]) {
			m.settledAt[k] = at
		}
	}
	for k := 1; k < len(m.settledAt); k++ {
		if m.settledAt[k].Before(m.settledAt[k-1]) {
			m.settledAt[k] = m.settledAt[k-1]
		}
	}
	for m.settled < len(m.unsettled) && m.unsettled[m.settled] == 0 {
		m.settled++
	}
	for i := range n {
		m.arm(i)
		m.offer(i)
	}
	m.reindexRemovals()
}

// settledSince is when a settled component became that.
func (c *ComponentState) settledSince() time.Time {
	if c.Status == Done {
		return c.HealthyAt
	}
	return c.EndedAt
}

// isSettled reports whether later groups may go on without the component. With
// the failure policy continue that includes what has failed and what can never
// start.
func (m *Machine) isSettled(i int) bool {
	s := m.state.Components[i].Status
	return s == Done || m.state.Spec.OnFailure == Continue && (s.Bad() || m.dead[i])
}

// resettle keeps unsettled and settled right after a change of a component.
func (m *Machine) resettle(i int, was bool) {
	is, k := m.isSettled(i), m.group[i]
	switch {
	case is == was:
	case was:
		m.unsettled[k]++
		m.settled = min(m.settled, k)
	default:
		m.unsettled[k]--
		for m.settled < len(m.unsettled) && m.unsettled[m.settled] == 0 {
			m.settled++
			m.settledAt[m.settled] = m.now
		}
	}
}

// move gives a component another status and keeps the indexes right.
func (m *Machine) move(i int, to Status, reason string) {
	c := &m.state.Components[i]
	from, was := c.Status, m.isSettled(i)
	c.Status = to
	m.count[from]--
	m.count[to]++
	if from.InFlight() != to.InFlight() {
		step, d := m.state.Spec.Components[i].Step, 1
		if from.InFlight() {
			d = -1
		}
		m.inFlight += d
		m.stepInFlight[step] += d
	}
	if m.dead[i] && to != Blocked {
		m.dead[i] = false
		m.deadCount--
	}
	m.resettle(i, was)
	if from == Done && to != Done {
		for _, d := range m.graph.Dependants(i) {
			m.unmet[d]++
		}
	}
	if to == Done && from != Done {
		for _, d := range m.graph.Dependants(i) {
			if m.unmet[d]--; m.unmet[d] == 0 {
				m.metAt[d] = m.now
				m.offer(int(d))
			}
		}
	}
	m.note(i, from, to, reason)
}

// note records a transition.
func (m *Machine) note(i int, from, to Status, reason string) {
	m.touch(i)
	m.record(m.state.Components[i].Name, from, to, reason)
}

func (m *Machine) record(name string, from, to Status, reason string) {
	m.transitions = append(m.transitions, Transition{At: m.now, Component: name, From: from, To: to, Reason: reason})
}

// touch marks a component as changed.
func (m *Machine) touch(i int) { m.touched.add(i) }

// touched are the components or removals that a step has changed.
type touched struct {
	list []int
	has  []bool
}

func (t *touched) add(i int) {
	if !t.has[i] {
		t.has[i] = true
		t.list = append(t.list, i)
	}
}

// take has the changed ones in their order, and forgets them.
func (t *touched) take(all []ComponentState) []ComponentState {
	slices.Sort(t.list)
	changed := make([]ComponentState, len(t.list))
	for k, i := range t.list {
		changed[k], t.has[i] = all[i], false
	}
	t.list = t.list[:0]
	return changed
}
