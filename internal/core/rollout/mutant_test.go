package rollout

import (
	"strings"
	"testing"
	"time"
)

// tampered hands a changed event, or none, to the machine.
type tampered struct {
	*Machine
	change func(m *Machine, e Event) (Event, bool)
}

func (t tampered) Step(e Event, now time.Time) Update {
	e, ok := t.change(t.Machine, e)
	if !ok {
		return Update{}
	}
	return t.Machine.Step(e, now)
}

func tamper(change func(m *Machine, e Event) (Event, bool)) func(*Machine) stepper {
	return func(m *Machine) stepper { return tampered{m, change} }
}

// hasty deletes one component more after every event: the first or the last
// applied that is still there.
type hasty struct {
	*Machine
	when  func(m *Machine) bool
	first bool
}

func (h hasty) Step(e Event, now time.Time) Update {
	m := h.Machine
	u := m.Step(e, now)
	if !m.running() || !h.when(m) {
		return u
	}
	order := make([]int, len(m.state.Removals))
	for i := range order {
		order[i] = i
		if !h.first {
			order[i] = len(order) - 1 - i
		}
	}
	for _, i := range order {
		if m.state.Removals[i].Status == Blocked {
			m.beginRemoval(i)
			m.moveRemoval(i, Removing, "hasty")
			break
		}
	}
	more := m.flush()
	if !more.Changed() {
		return u
	}
	u.Effects = append(u.Effects, more.Effects...)
	u.Change.Progress, u.Change.Removals = more.Change.Progress, m.State().Removals
	u.Change.Transitions = append(u.Change.Transitions, more.Change.Transitions...)
	return u
}

// TestSimulationFindsBrokenMachines proves that the simulation can fail: each of
// these machines breaks one promise, and must be caught at it.
func TestSimulationFindsBrokenMachines(t *testing.T) {
	tests := map[string]struct {
		wrap  func(*Machine) stepper
		twist func(*Spec) // what the machine is told instead of the truth
		want  string
	}{
		"ignores the limits of steps": {want: "invariant 3", twist: func(s *Spec) {
			for k := range s.Steps {
				s.Steps[k].Limit = min(s.Steps[k].Limit, 0)
			}
		}},
		"ignores the global cap": {want: "invariant 3", twist: func(s *Spec) { s.MaxInFlight = 0 }},
		"starts before its requirements": {want: "invariant 1", twist: func(s *Spec) {
			for i := range s.Components {
				s.Components[i].Requires = nil
			}
		}},
		"starts before the step before": {want: "invariant 1", twist: func(s *Spec) {
			if s.Policy == Phases {
				s.Policy = Edges
			}
		}},
		"takes any revision for its own": {want: "invariant 1", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			if seen, ok := e.(Observed); ok {
				seen.Revision = revision
				return seen, true
			}
			return e, true
		})},
		"does not close a gate again": {want: "invariant 1, 2", wrap: tamper(func(m *Machine, e Event) (Event, bool) {
			if seen, ok := e.(Observed); ok && seen.Health != Healthy {
				c, _ := m.Component(seen.Component)
				return e, c.Status != Done
			}
			return e, true
		})},
		"believes late observations": {want: "is not", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			if seen, ok := e.(Observed); ok {
				seen.At = time.Time{}
				return seen, true
			}
			return e, true
		})},
		"trusts the past after a crash": {want: "invariant 1, 2", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			if _, ok := e.(Recovered); ok {
				return Tick{}, true
			}
			return e, true
		})},
		"goes on during a pause": {want: "invariant 7", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			_, pause := e.(Pause)
			return e, !pause
		})},
		"needs no approval": {want: "invariant 7", twist: func(s *Spec) {
			for k := range s.Steps {
				s.Steps[k].Approval = false
				s.Steps[k].Limit = max(s.Steps[k].Limit, 0)
			}
		}},
		"goes on after a failure": {want: "invariant 4", twist: func(s *Spec) {
			s.OnFailure = Continue
		}},
		"stops more than the dependants": {want: "invariant", twist: func(s *Spec) {
			s.OnFailure = Halt
		}},
		"knows no timeouts": {want: "invariant 6", twist: func(s *Spec) {
			for i := range s.Components {
				s.Components[i].Timeout = 0
			}
		}},
		"loses the end of a sync": {want: "out", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			if done, ok := e.(SyncFinished); ok && done.Attempt == 2 {
				return e, false
			}
			return e, true
		})},
		"takes the end of an old attempt for the new one": {want: "out", wrap: tamper(func(m *Machine, e Event) (Event, bool) {
			if done, ok := e.(SyncFinished); ok {
				c, _ := m.Component(done.Component)
				done.Attempt = c.Attempt
				return done, true
			}
			return e, true
		})},
		"does not retry": {want: "invariant 5", twist: func(s *Spec) {
			for i := range s.Components {
				s.Components[i].Retry.Limit = 0
			}
		}},
		"does not know what required what": {want: "invariant 8", twist: func(s *Spec) {
			for i := range s.Remove {
				s.Remove[i].Requires = nil
			}
		}},
		"believes that all requirements are known": {want: "invariant 8", twist: func(s *Spec) {
			for i := range s.Remove {
				s.Remove[i].EdgesKnown = true
			}
		}},
		"deletes in the order that was applied": {
			want: "is deleted although v",
			wrap: func(m *Machine) stepper { return hasty{m, (*Machine).allHealthy, true} },
		},
		"deletes before everything is Healthy": {
			want: "which stays, is not Healthy",
			wrap: func(m *Machine) stepper {
				return hasty{m, func(m *Machine) bool { return m.count[Done]+1 == len(m.state.Components) }, false}
			},
		},
		"deletes after a deletion failed": {
			want: "is deleted although the rollout halted",
			wrap: func(m *Machine) stepper {
				return hasty{m, func(m *Machine) bool { return m.badRemovals > 0 && m.halted() && m.allHealthy() }, false}
			},
		},
		"deletes during a pause": {want: "is deleted during a pause", wrap: tamper(func(m *Machine, e Event) (Event, bool) {
			_, pause := e.(Pause)
			return e, !pause || !m.allHealthy()
		})},
		"takes a deletion that failed for done": {want: "invariant 8", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			if done, ok := e.(RemoveFinished); ok {
				done.Error = ""
				return done, true
			}
			return e, true
		})},
		"loses the end of a deletion": {want: "its deletion is out", wrap: tamper(func(_ *Machine, e Event) (Event, bool) {
			_, done := e.(RemoveFinished)
			return e, !done
		})},
		"takes the end of an old deletion for the new one": {want: "its deletion is out", wrap: tamper(func(m *Machine, e Event) (Event, bool) {
			if done, ok := e.(RemoveFinished); ok {
				c, _ := m.Component(done.Component)
				done.Attempt = c.Attempt
				return done, true
			}
			return e, true
		})},
		"waits for ever for a deletion": {want: "invariant 6: the deletion of", twist: func(s *Spec) {
			for i := range s.Remove {
				s.Remove[i].Timeout = 0
			}
		}},
		"deletes once and never again": {want: "invariant 5, 8", twist: func(s *Spec) {
			for i := range s.Remove {
				s.Remove[i].Retry.Limit = 0
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const most = 3_000
			for seed := range uint64(most) {
				_, err := simulate(seed, tt.wrap, tt.twist, false)
				if err != nil && strings.Contains(err.Error(), tt.want) {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("%d schedules did not find it", most)
		})
	}
}
