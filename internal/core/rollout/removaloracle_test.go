package rollout

import (
	"fmt"
	"slices"
	"time"
)

// removalOracle holds deletions against invariant 8. It goes by what earlier
// rollouts applied, not by what Removals makes of it.
type removalOracle struct {
	spec    []RemovalSpec
	before  [][]int // by removal, those that must be gone before it is deleted
	number  map[string]int
	gone    []bool // its end was heard
	attempt []int
	open    []bool
	due     []time.Time
}

func newRemovalOracle(spec []RemovalSpec, earlier []Applied) removalOracle {
	n := len(spec)
	o := removalOracle{
		spec: spec, before: make([][]int, n), number: make(map[string]int, n),
		gone: make([]bool, n), attempt: make([]int, n), open: make([]bool, n), due: make([]time.Time, n),
	}
	applied := make(map[string]Applied, len(earlier))
	for _, a := range earlier {
		applied[a.Component] = a
	}
	for i, r := range spec {
		o.number[r.Name] = i
	}
	var required func(by, name string) bool // directly or not
	required = func(by, name string) bool {
		return slices.ContainsFunc(applied[by].Requires, func(r string) bool { return r == name || required(r, name) })
	}
	for i, x := range spec {
		for j, y := range spec {
			a, b := applied[x.Name], applied[y.Name]
			unknown := len(a.Requires) == 0 || len(b.Requires) == 0
			if i != j && (required(y.Name, x.Name) || unknown && b.Sequence > a.Sequence) {
				o.before[i] = append(o.before[i], j)
			}
		}
	}
	return o
}

func (o *removalOracle) hear(e RemoveFinished) {
	i := o.number[e.Component]
	if o.open[i] && o.attempt[i] == e.Attempt {
		o.open[i] = false
		o.gone[i] = e.Error == ""
	}
}

func (o *removalOracle) cancel(e Cancel) error {
	i := o.number[e.Component]
	if !o.open[i] || o.attempt[i] != e.Attempt {
		return fmt.Errorf("%s: cancels deletion %d, which is not out", e.Component, e.Attempt)
	}
	o.open[i] = false
	return nil
}

// closed says why a component may not be deleted, or "".
func (o *removalOracle) closed(i int) string {
	for _, j := range o.before[i] {
		if !o.gone[j] {
			return o.spec[j].Name + ", which was applied after it, is not gone"
		}
	}
	return ""
}

// checkRemove holds the beginning of a deletion against the invariants.
func (o *oracle) checkRemove(effect Remove, e Event, before, s *State, halted bool, now time.Time) error {
	r := &o.removals
	i := r.number[effect.Component]
	if effect.Attempt <= r.attempt[i] {
		return fmt.Errorf("%s: deletion %d after %d", effect.Component, effect.Attempt, r.attempt[i])
	}
	if again := before.Removals[i].Status == Removing && isRecovered(e); !again {
		if why := r.closed(i); why != "" {
			return fmt.Errorf("invariant 8: %s is deleted although %s", effect.Component, why)
		}
		for j, c := range o.spec.Components {
			if !o.healthy(j) {
				return fmt.Errorf("invariant 8: %s is deleted although %s, which stays, is not Healthy", effect.Component, c.Name)
			}
		}
		if halted {
			return fmt.Errorf("invariant 4: %s is deleted although the rollout halted", effect.Component)
		}
		if o.paused {
			return fmt.Errorf("invariant 7: %s is deleted during a pause", effect.Component)
		}
		if r.open[i] {
			return fmt.Errorf("invariant 5: %s is deleted twice at once", effect.Component)
		}
	}
	if r.gone[i] {
		return fmt.Errorf("invariant 7: %s is deleted although it is gone", effect.Component)
	}
	if !o.started || before.Result != Running && s.Result == before.Result {
		return fmt.Errorf("%s is deleted in a rollout that does not run", effect.Component)
	}
	r.attempt[i], r.open[i], r.due[i] = effect.Attempt, true, time.Time{}
	if timeout := r.spec[i].Timeout; timeout > 0 {
		r.due[i] = now.Add(timeout)
	}
	return nil
}

// checkState holds the statuses of removals against what was heard, and counts
// those in flight.
func (o *removalOracle) checkState(s *State, now time.Time) (removing int, err error) {
	for i, c := range s.Removals {
		if c.Status == Removing {
			removing++
			if !o.due[i].IsZero() && !now.Before(o.due[i]) {
				return 0, fmt.Errorf("invariant 6: the deletion of %s is past its timeout", c.Name)
			}
		}
		if o.open[i] != (c.Status == Removing) {
			return 0, fmt.Errorf("%s is %s, its deletion is out: %v", c.Name, c.Status, o.open[i])
		}
		if o.gone[i] != (c.Status == Removed) {
			return 0, fmt.Errorf("invariant 8: %s is %s, gone: %v", c.Name, c.Status, o.gone[i])
		}
	}
	return removing, nil
}

// checkStuck refuses an end of a rollout that continues over failures and yet
// left something that waits for none of them.
func (o *removalOracle) checkStuck(s *State) error {
	stuck := make([]bool, len(s.Removals))
	for again := true; again; {
		again = false
		for i, c := range s.Removals {
			if stuck[i] || c.Status == Removed {
				continue
			}
			if c.Status.Bad() || slices.ContainsFunc(o.before[i], func(j int) bool { return stuck[j] }) {
				stuck[i], again = true, true
			}
		}
	}
	for i, c := range s.Removals {
		if c.Status != Removed && !stuck[i] {
			return fmt.Errorf("invariant 4: failed, and %s, which waits for nothing that failed, is %s", c.Name, c.Status)
		}
	}
	return nil
}

// predictRemovals says what is gone at the end of a calm scene.
func predictRemovals(s scene, allHealthy bool) []bool {
	o := newRemovalOracle(s.spec.Remove, s.earlier)
	gone := make([]bool, len(o.spec))
	for again := allHealthy; again; {
		again = false
		for i, r := range o.spec {
			if gone[i] || s.leaving[i].bad(r.Retry.Limit) || slices.ContainsFunc(o.before[i], func(j int) bool { return !gone[j] }) {
				continue
			}
			gone[i], again = true, true
		}
	}
	return gone
}
