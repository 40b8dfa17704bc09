package rollout

import (
	"fmt"
	"slices"
	"time"
)

// oracle holds a rollout against the invariants. It keeps its own books, from
// the events and effects alone, and looks into the state only for statuses: it
// shares no index with the machine.
type oracle struct {
	spec     Spec
	number   map[string]int
	requires [][]int
	group    []int // unit of the order, and how many units are waited for
	after    []int

	started  bool
	since    time.Time // start of the rollout, or when it was taken up again
	paused   bool
	pausedAt time.Time
	rested   time.Duration // in pauses since then
	approved []bool
	last     []Observed // newest by time of sight, since the last start of a process
	applied  []bool     // the last attempt has ended well
	attempt  []int
	open     []bool      // an attempt is out, neither finished nor cancelled
	due      []time.Time // when that attempt must have ended
	synced   []time.Time

	removals removalOracle
}

func newOracle(spec Spec, earlier []Applied) *oracle {
	n := len(spec.Components)
	o := &oracle{
		spec: spec, number: make(map[string]int), requires: make([][]int, n),
		group: make([]int, n), after: make([]int, n), approved: make([]bool, len(spec.Steps)),
		last: make([]Observed, n), applied: make([]bool, n), attempt: make([]int, n),
		open: make([]bool, n), due: make([]time.Time, n), synced: make([]time.Time, n),
	}
	for i, c := range spec.Components {
		o.number[c.Name] = i
		o.group[i] = c.Step
		switch spec.Policy {
		case Phases:
			o.after[i] = c.Step
		case Edges:
			o.after[i] = c.After
		case Serial:
			o.group[i], o.after[i] = i, i
		}
	}
	for i, c := range spec.Components {
		for _, name := range c.Requires {
			o.requires[i] = append(o.requires[i], o.number[name])
		}
	}
	o.removals = newRemovalOracle(spec.Remove, earlier)
	return o
}

// hear notes an event before the machine gets it.
func (o *oracle) hear(e Event, before *State, now time.Time) {
	switch e := e.(type) {
	case Started:
		o.begin(now)
	case Pause:
		if !o.paused && before.Result == Running {
			o.paused, o.pausedAt = true, now
		}
	case Resume:
		if o.paused {
			o.rested += now.Sub(o.pausedAt)
		}
		if before.Result == ResultAborted || before.Result == Running {
			o.paused = false
		}
		if before.Result == ResultAborted {
			o.forget(now)
			o.since, o.rested = now, 0
		}
	case Retry:
		ended := before.Result != Running && slices.ContainsFunc(before.Components, func(c ComponentState) bool {
			return (e.Component == "" || e.Component == c.Name) &&
				(c.Status.Bad() || c.Status == Aborted)
		})
		ended = ended || before.Result != Running && slices.ContainsFunc(before.Removals, func(c ComponentState) bool {
			return (e.Component == "" || e.Component == c.Name) && (c.Status.Bad() || c.Status == Aborted)
		})
		if ended {
			o.paused = false
			o.forget(now)
			o.since, o.rested = now, 0
		}
	case Recovered:
		o.begin(now)
		if before.Result == Running {
			o.forget(now)
		}
	case Approve:
		o.approved[e.Step] = true
	case SyncFinished:
		if i := o.number[e.Component]; o.open[i] && o.attempt[i] == e.Attempt {
			o.open[i] = false
			o.applied[i], o.synced[i] = e.Error == "", now
		}
	case RemoveFinished:
		o.removals.hear(e)
	case Observed:
		i, ok := o.number[e.Component]
		if !ok {
			return
		}
		if e.At.IsZero() {
			e.At = now
		}
		if !e.At.Before(o.last[i].At) {
			o.last[i] = e
		}
	}
}

func (o *oracle) begin(now time.Time) {
	if !o.started {
		o.started, o.since = true, now
		o.pausedAt = now // a pause before the start takes no time of it
	}
}

// forget drops what a process knew that is gone.
func (o *oracle) forget(now time.Time) {
	for i := range o.last {
		o.last[i] = Observed{}
		if !o.due[i].IsZero() {
			o.due[i] = now.Add(o.spec.Components[i].Timeout)
		}
	}
}

// healthy reports whether a component was applied by this rollout and its newest
// observation is Healthy at the revision.
func (o *oracle) healthy(i int) bool {
	return o.applied[i] && o.last[i].Health == Healthy && o.last[i].Revision == o.spec.Revision
}

// dead marks what can never start because of a failure.
func (o *oracle) dead(s *State) []bool {
	dead := make([]bool, len(o.requires))
	for again := true; again; {
		again = false
		for i, requires := range o.requires {
			if dead[i] || s.Components[i].Status != Blocked {
				continue
			}
			for _, j := range requires {
				if s.Components[j].Status.Bad() || dead[j] {
					dead[i], again = true, true
				}
			}
		}
	}
	return dead
}

// gateClosed says why a component may not start, or "".
func (o *oracle) gateClosed(i int, s *State, dead []bool, healthy func(int) bool) string {
	for _, j := range o.requires[i] {
		if !healthy(j) {
			return fmt.Sprintf("%s is not Healthy at the revision", o.spec.Components[j].Name)
		}
	}
	for j := range o.group {
		if o.group[j] >= o.after[i] || healthy(j) {
			continue
		}
		if o.spec.OnFailure == Continue && (s.Components[j].Status.Bad() || dead[j]) {
			continue
		}
		return fmt.Sprintf("%s, which comes first, is not Healthy", o.spec.Components[j].Name)
	}
	return ""
}

func (o *oracle) held(step int) bool {
	s := o.spec.Steps[step]
	return (s.Approval || s.Limit < 0) && !o.approved[step]
}

func (o *oracle) cap() int {
	if o.spec.Policy == Serial {
		return 1
	}
	return o.spec.MaxInFlight
}

// check holds one step of the machine against the invariants. before and after
// are the states around it.
func (o *oracle) check(e Event, before, s *State, effects []Effect, now time.Time) error {
	if err := o.checkLate(e, before, now); err != nil {
		return err
	}
	dead := o.dead(s)
	bad := func(c ComponentState) bool { return c.Status.Bad() }
	halted := o.spec.OnFailure == Halt && (slices.ContainsFunc(s.Components, bad) || slices.ContainsFunc(s.Removals, bad))
	for _, effect := range effects {
		switch effect := effect.(type) {
		case Sync:
			i := o.number[effect.Component]
			from := before.Components[i].Status
			again := from == Syncing && isRecovered(e)
			if effect.Attempt <= o.attempt[i] {
				return fmt.Errorf("%s: attempt %d after %d", effect.Component, effect.Attempt, o.attempt[i])
			}
			if !again {
				if why := o.gateClosed(i, s, dead, o.healthy); why != "" {
					return fmt.Errorf("invariant 1, 2: %s started although %s", effect.Component, why)
				}
				if halted {
					return fmt.Errorf("invariant 4: %s started although the rollout halted", effect.Component)
				}
				if o.paused {
					return fmt.Errorf("invariant 7: %s started during a pause", effect.Component)
				}
				if o.held(o.spec.Components[i].Step) {
					return fmt.Errorf("invariant 7: %s started without approval", effect.Component)
				}
				if o.open[i] {
					return fmt.Errorf("invariant 5: %s synced twice at once", effect.Component)
				}
				unheard := o.last[i].Health == "" && now.Before(before.Components[i].Deadline)
				if (from == Done || from == Unconfirmed) && (o.healthy(i) || unheard) {
					return fmt.Errorf("invariant 7: %s applied again although it was done", effect.Component)
				}
			}
			if !o.started || before.Result != Running && s.Result == before.Result {
				return fmt.Errorf("%s started in a rollout that does not run", effect.Component)
			}
			if err := o.checkUnblocked(i, s, again); err != nil {
				return err
			}
			o.attempt[i], o.open[i], o.applied[i] = effect.Attempt, true, false
			o.due[i] = time.Time{}
			if timeout := o.spec.Components[i].Timeout; timeout > 0 {
				o.due[i] = now.Add(timeout)
			}
		case Remove:
			if err := o.checkRemove(effect, e, before, s, halted, now); err != nil {
				return err
			}
		case Cancel:
			i, ok := o.number[effect.Component]
			if !ok {
				if err := o.removals.cancel(effect); err != nil {
					return err
				}
				continue
			}
			if !o.open[i] || o.attempt[i] != effect.Attempt {
				return fmt.Errorf("%s: cancels attempt %d, which is not out", effect.Component, effect.Attempt)
			}
			o.open[i] = false
		case Finish:
			if s.Result != effect.Result {
				return fmt.Errorf("finished %q, state says %q", effect.Result, s.Result)
			}
			if ran := now.Sub(o.since) - o.rested; effect.Result == ResultTimedOut && ran < o.spec.Timeout {
				return fmt.Errorf("timed out after %s of %s", ran, o.spec.Timeout)
			}
		}
	}
	return o.checkState(s, dead, halted, now)
}

// checkLate refuses timeouts that fire only because something else happened: the
// simulated process is called within two seconds of the time it asks for.
func (o *oracle) checkLate(e Event, before *State, now time.Time) error {
	const slack = 3 * time.Second
	if before.Result != Running || isRecovered(e) {
		return nil
	}
	late := func(due time.Time) bool { return !due.IsZero() && now.After(due.Add(slack)) }
	if !o.paused && before.PausedAt.IsZero() && late(before.Deadline) {
		return fmt.Errorf("invariant 6: the rollout was due to time out at %s", before.Deadline)
	}
	for i, c := range before.Components {
		if c.Status.InFlight() && late(o.due[i]) {
			return fmt.Errorf("invariant 6: %s was due to time out at %s", c.Name, o.due[i])
		}
	}
	for i, c := range before.Removals {
		if c.Status == Removing && late(o.removals.due[i]) {
			return fmt.Errorf("invariant 6: the deletion of %s was due to time out at %s", c.Name, o.removals.due[i])
		}
	}
	return nil
}

// checkUnblocked holds the time at which a gate opened against the times at
// which everything behind it turned Healthy.
func (o *oracle) checkUnblocked(i int, s *State, again bool) error {
	if again || o.spec.OnFailure == Continue { // then failures open gates as well
		return nil
	}
	want := s.StartedAt
	for j, c := range s.Components {
		if (o.group[j] < o.after[i] || slices.Contains(o.requires[i], j)) && c.HealthyAt.After(want) {
			want = c.HealthyAt
		}
	}
	if c := s.Components[i]; !c.UnblockedAt.Equal(want) {
		return fmt.Errorf("%s was unblocked at %s, not at %s", c.Name, want, c.UnblockedAt)
	}
	return nil
}

func isRecovered(e Event) bool { _, ok := e.(Recovered); return ok }

func (o *oracle) checkState(s *State, dead []bool, halted bool, now time.Time) error {
	inFlight, inStep, done := 0, make([]int, len(o.spec.Steps)), 0
	for i, c := range s.Components {
		if c.Status.InFlight() {
			inFlight++
			inStep[o.spec.Components[i].Step]++
			if !o.due[i].IsZero() && !now.Before(o.due[i]) {
				return fmt.Errorf("invariant 6: %s is past its timeout", c.Name)
			}
		}
		if o.open[i] != (c.Status == Syncing) {
			return fmt.Errorf("%s is %s, its attempt is out: %v", c.Name, c.Status, o.open[i])
		}
		switch {
		case c.Status == Done:
			done++
			if s.Result == Running && !o.healthy(i) {
				return fmt.Errorf("invariant 1, 2: %s counts as Healthy and is not", c.Name)
			}
		case o.healthy(i) && s.Result == Running && !o.last[i].At.Before(o.synced[i]) && (c.Status == Waiting || c.Status == Regressed || c.Status == Unconfirmed):
			return fmt.Errorf("%s is Healthy and counts as %s", c.Name, c.Status)
		}
	}
	removing, err := o.removals.checkState(s, now)
	if err != nil {
		return err
	}
	inFlight += removing
	if limit := o.cap(); limit > 0 && inFlight > limit {
		return fmt.Errorf("invariant 3: %d in flight, cap %d", inFlight, limit)
	}
	for k, step := range o.spec.Steps {
		if step.Limit > 0 && inStep[k] > step.Limit {
			return fmt.Errorf("invariant 3: %d of step %s in flight, limit %d", inStep[k], step.Label, step.Limit)
		}
	}
	switch s.Result {
	case Running:
		return o.checkIdle(s, dead, halted, inFlight, inStep, now)
	case Succeeded:
		if done != len(s.Components) {
			return fmt.Errorf("succeeded with %d of %d done", done, len(s.Components))
		}
		if i := slices.Index(o.removals.gone, false); i >= 0 {
			return fmt.Errorf("invariant 8: succeeded, and %s is not gone", s.Removals[i].Name)
		}
	default:
		if inFlight > 0 { // removals included
			return fmt.Errorf("invariant 7: ended %s with %d in flight", s.Result, inFlight)
		}
	}
	if slices.ContainsFunc(s.Removals, func(c ComponentState) bool { return c.Status == Retrying }) {
		return fmt.Errorf("invariant 7: ended %s, and a removal waits for a retry", s.Result)
	}
	if i := slices.IndexFunc(s.Components, func(c ComponentState) bool { return c.Status == Retrying }); i >= 0 {
		return fmt.Errorf("invariant 7: ended %s, and %s waits for a retry", s.Result, s.Components[i].Name)
	}
	if s.Result == ResultFailed && o.spec.OnFailure == Continue {
		for i, c := range s.Components {
			if c.Status != Done && !c.Status.Bad() && !dead[i] {
				return fmt.Errorf("invariant 4: failed, and %s, which depends on nothing that failed, is %s", c.Name, c.Status)
			}
		}
		if done == len(s.Components) {
			return o.removals.checkStuck(s)
		}
	}
	return nil
}

// checkIdle refuses a machine that lets something wait without a reason.
func (o *oracle) checkIdle(s *State, dead []bool, halted bool, inFlight int, inStep []int, now time.Time) error {
	if !o.started || o.paused || halted {
		return nil
	}
	if limit := o.cap(); limit > 0 && inFlight >= limit {
		return nil
	}
	isDone := func(i int) bool { return s.Components[i].Status == Done }
	for i, c := range s.Components {
		step := o.spec.Components[i].Step
		limit := o.spec.Steps[step].Limit
		waits := c.Status == Blocked || c.Status == Retrying && !now.Before(c.RetryAt)
		if waits && !dead[i] && o.gateClosed(i, s, dead, isDone) == "" && !o.held(step) && (limit <= 0 || inStep[step] < limit) {
			return fmt.Errorf("invariant 6: %s could start and does not", c.Name)
		}
	}
	if slices.ContainsFunc(s.Components, func(c ComponentState) bool { return c.Status != Done }) {
		return nil
	}
	for i, c := range s.Removals {
		waits := c.Status == Blocked || c.Status == Retrying && !now.Before(c.RetryAt)
		if waits && o.removals.closed(i) == "" {
			return fmt.Errorf("invariant 6: %s could be removed and is not", c.Name)
		}
	}
	return nil
}

// predict says how a calm scene ends: which components become Healthy.
func predict(s scene) []bool {
	done := make([]bool, len(s.spec.Components))
	index := make(map[string]int)
	for i, c := range s.spec.Components {
		index[c.Name] = i
		done[i] = !s.natures[i].bad(c.Retry.Limit)
		for _, name := range c.Requires {
			done[i] = done[i] && done[index[name]]
		}
	}
	return done
}
