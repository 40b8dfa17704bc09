package rollout

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/dag"
)

// Machine is a rollout with indexes over its state, so that an event costs
// what it changes and not what the rollout holds. It is not safe for concurrent
// use. Everything it knows is in State; Restore builds the indexes again.
type Machine struct {
	state  State
	byName map[string]int
	graph  *dag.Graph // From requires To
	order  []int      // providers before consumers
	// group is the unit of the order that a component belongs to: its step, or
	// under Serial its position. after is how many groups it waits for.
	group, after []int
	index
	removals
	update
}

// index is what can be derived from the state; see reindex.
type index struct {
	count        map[Status]int
	inFlight     int
	stepInFlight []int
	// unmet counts the requirements of a component that are not Healthy;
	// metAt is when the last of them turned Healthy.
	unmet []int
	metAt []time.Time
	// dead marks blocked components that can never start, because something
	// they require has failed or is dead itself.
	dead      []bool
	deadCount int
	// unsettled counts, by group, what later groups wait for; settled is the
	// first group that has any; settledAt is when a group became that last.
	unsettled []int
	settled   int
	settledAt []time.Time
	ready     queues
	timers    timers
}

// update collects what the current event changes.
type update struct {
	now         time.Time
	touched     touched
	progress    bool
	transitions []Transition
	effects     []Effect
	wake        WakeAt // the last one
}

// statuses a State may hold.
var statuses = []Status{
	Blocked, Syncing, Waiting, Retrying, Done, Regressed, Unconfirmed, Failed, TimedOut, Aborted,
}

// NewMachine returns a rollout that has not started, or an error for a Spec
// that contradicts itself.
func NewMachine(spec Spec, now time.Time) (*Machine, error) {
	return Restore(New(spec, now))
}

// Restore takes up a state, for example after a crash; the event Recovered
// comes next. The machine works on a copy.
func Restore(state State) (*Machine, error) {
	if state.FormatVersion != FormatVersion {
		return nil, fmt.Errorf("rollout state has format version %q, not %q", state.FormatVersion, FormatVersion)
	}
	if state.Spec.OnFailure == "" {
		state.Spec.OnFailure = Halt
	}
	m := &Machine{state: state.clone()}
	if err := m.wire(); err != nil {
		return nil, err
	}
	if err := m.wireRemovals(); err != nil {
		return nil, err
	}
	if len(state.Components) != len(state.Spec.Components) {
		return nil, fmt.Errorf("rollout state has %d components, its spec %d", len(state.Components), len(state.Spec.Components))
	}
	for i, c := range state.Components {
		if c.Name != state.Spec.Components[i].Name {
			return nil, fmt.Errorf("rollout state has component %q where its spec has %q", c.Name, state.Spec.Components[i].Name)
		}
		if !slices.Contains(statuses, c.Status) {
			return nil, fmt.Errorf("rollout state has component %s in the unknown state %q", c.Name, c.Status)
		}
	}
	for i, a := range state.Approvals {
		if a.Step < 0 || a.Step >= len(state.Spec.Steps) || i > 0 && a.Step <= state.Approvals[i-1].Step {
			return nil, errors.New("rollout state has approvals that its spec has no steps for, or not in their order")
		}
	}
	m.touched.has = make([]bool, len(state.Components))
	m.reindex()
	return m, nil
}

// Step applies one event. Time never runs backwards: an earlier now counts as
// the time of the last event.
func (m *Machine) Step(event Event, now time.Time) Update {
	m.now = now
	if now.Before(m.state.UpdatedAt) {
		m.now = m.state.UpdatedAt
	}
	m.handle(event)
	if m.running() {
		m.expire()
	}
	if m.running() { // its own time may have been up
		m.schedule()
		m.scheduleRemovals()
		m.conclude()
	}
	m.alarm()
	return m.flush()
}

// running reports whether the rollout has started and not ended.
func (m *Machine) running() bool {
	return !m.state.StartedAt.IsZero() && m.state.Result == Running
}

// flush returns what the event changed and forgets it.
func (m *Machine) flush() Update {
	u := Update{Effects: m.effects}
	if m.progress || len(m.touched.list)+len(m.touchedRemovals.list) > 0 {
		m.state.Sequence++
		m.state.UpdatedAt = m.now
		u.Change = Change{Progress: m.state.Progress.clone(), Transitions: m.transitions}
		u.Change.Components = m.touched.take(m.state.Components)
		if len(m.touchedRemovals.list) > 0 {
			u.Change.Removals = m.touchedRemovals.take(m.state.Removals)
		}
	}
	m.progress = false
	m.transitions, m.effects = nil, nil
	return u
}

// State returns a copy of the state.
func (m *Machine) State() State { return m.state.clone() }

// Spec is what the rollout was made from. The caller does not change it.
func (m *Machine) Spec() Spec { return m.state.Spec }

// Progress is the rollout as a whole, without its components.
func (m *Machine) Progress() Progress { return m.state.Progress.clone() }

// Result is how the rollout ended, or Running.
func (m *Machine) Result() Result { return m.state.Result }

// Count is the number of components in a status.
func (m *Machine) Count(s Status) int { return m.count[s] }

// NextWake is when the next Tick is due; its time is zero when nothing is.
func (m *Machine) NextWake() WakeAt {
	if !m.running() {
		return WakeAt{}
	}
	var next WakeAt
	sooner := func(at time.Time, fails bool) {
		if next.At.IsZero() || at.Before(next.At) {
			next = WakeAt{At: at, Fails: fails}
		}
	}
	if i, at, ok := m.timers.next(); ok {
		c := &m.state.Components[i]
		sooner(at, c.Status != Retrying && (at.Equal(c.Deadline) || at.Equal(m.graceEnd(i))))
	}
	if i, at, ok := m.removalTimers.next(); ok {
		sooner(at, m.state.Removals[i].Status != Retrying)
	}
	if at := m.state.Deadline; !at.IsZero() && m.state.PausedAt.IsZero() {
		sooner(at, true)
	}
	return next
}

// alarm asks for the next Tick if its time has changed.
func (m *Machine) alarm() {
	if next := m.NextWake(); !next.At.Equal(m.wake.At) || next.Fails != m.wake.Fails {
		m.wake = next
		m.effects = append(m.effects, next)
	}
}

// Component returns one component, also of those to be removed; ok is false for
// a name the rollout lacks. A blocked component whose gate is open has its UnblockedAt.
func (m *Machine) Component(name string) (c ComponentState, ok bool) {
	i, ok := m.byName[name]
	if !ok {
		return m.removal(name)
	}
	c = m.state.Components[i]
	if c.Status == Blocked && m.unmet[i] == 0 && m.after[i] <= m.settled {
		c.UnblockedAt = m.openedAt(i)
	}
	return c, true
}

// openedAt is when the gate of a component opened last.
func (m *Machine) openedAt(i int) time.Time {
	at := m.state.StartedAt
	if m.metAt[i].After(at) {
		at = m.metAt[i]
	}
	if k := m.after[i]; k > 0 && m.settledAt[k].After(at) {
		at = m.settledAt[k]
	}
	return at
}

// New returns the state of a rollout that has not started.
func New(spec Spec, now time.Time) State {
	s := State{FormatVersion: FormatVersion, Spec: spec, Progress: Progress{UpdatedAt: now}}
	s.Components = make([]ComponentState, len(spec.Components))
	for i, c := range spec.Components {
		s.Components[i] = ComponentState{Name: c.Name, Status: Blocked}
	}
	for _, c := range spec.Remove {
		s.Removals = append(s.Removals, ComponentState{Name: c.Name, Status: Blocked})
	}
	return s
}

// Apply returns the state after a change: a journal of changes on top of a
// state gives the state at its end.
func (s State) Apply(c Change) State {
	s.Components, s.Removals = slices.Clone(s.Components), slices.Clone(s.Removals)
	s.Replay(c)
	return s
}

// Replay is Apply in place, for a journal with many changes.
func (s *State) Replay(c Change) {
	s.Progress = c.Progress.clone()
	replay(s.Components, c.Components)
	replay(s.Removals, c.Removals)
}

// replay puts changed components in their places; both lists are in the order of
// the spec.
func replay(all, changed []ComponentState) {
	for i := range all {
		if len(changed) == 0 {
			return
		}
		if all[i].Name == changed[0].Name {
			all[i], changed = changed[0], changed[1:]
		}
	}
}

func (s State) clone() State {
	s.Progress = s.Progress.clone()
	s.Components, s.Removals = slices.Clone(s.Components), slices.Clone(s.Removals)
	return s
}

func (p Progress) clone() Progress {
	p.Approvals = slices.Clone(p.Approvals)
	return p
}
