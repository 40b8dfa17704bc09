package rollout

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	schedules = flag.Int("schedules", 10_000, "number of simulated schedules")
	firstSeed = flag.Uint64("seed", 1, "seed of the first simulated schedule")
)

// stepper is a Machine, or a broken one in the test of the test.
type stepper interface {
	Step(Event, time.Time) Update
}

// simulation runs one scene.
type simulation struct {
	world
	oracle  *oracle
	machine *Machine
	stepper stepper
	wrap    func(*Machine) stepper
	truth   Spec // what the oracle goes by
	base    State
	journal []Change
	before  State // the state before the event, to compare with
	steps   int
	crashed int
	retries int
	events  []string // trace, kept on demand
	trace   bool
	err     error
}

// simulate runs the schedule of a seed and returns what it violated. wrap may
// break the machine.
func simulate(seed uint64, wrap func(*Machine) stepper, twist func(*Spec), trace bool) (*simulation, error) {
	r := rand.New(rand.NewPCG(seed, 17))
	sc := drawScene(r)
	s := &simulation{wrap: wrap, truth: sc.spec, trace: trace}
	s.world = world{r: r, scene: sc, deliver: s.step, names: make(map[string]int)}
	for i, n := range sc.natures {
		t := thing{nature: n, revision: n.before, health: Missing}
		if n.before != "" {
			t.health = Healthy
		}
		s.things = append(s.things, t)
		s.names[sc.spec.Components[i].Name] = i
	}
	for i, l := range sc.leaving {
		s.leavers = append(s.leavers, leaver{leaving: l})
		s.names[sc.spec.Remove[i].Name] = i
	}
	spec := sc.spec
	spec.Remove = append([]RemovalSpec(nil), spec.Remove...)
	spec.Components = append([]ComponentSpec(nil), spec.Components...)
	spec.Steps = append([]StepSpec(nil), spec.Steps...)
	if twist != nil {
		twist(&spec)
	}
	m, err := NewMachine(spec, s.clock())
	if err != nil {
		return s, fmt.Errorf("spec: %w", err)
	}
	s.oracle = newOracle(s.truth, sc.earlier)
	s.adopt(m)
	s.step(Started{})
	s.watch()
	s.people()
	const most = 20_000
	for s.err == nil && s.steps < most {
		if s.advance() {
			continue
		}
		if s.machine.Result() != Running {
			if !s.comeBack() {
				break
			}
			continue
		}
		if !s.unblock() {
			s.err = errors.New("invariant 6: nothing is left to happen, and the rollout has not ended")
		}
	}
	if s.err == nil && s.steps >= most {
		s.err = errors.New("invariant 6: does not end")
	}
	if s.err == nil {
		s.err = s.atEnd()
	}
	return s, s.err
}

// adopt begins a process with a machine.
func (s *simulation) adopt(m *Machine) {
	s.machine, s.stepper = m, m
	if s.wrap != nil {
		s.stepper = s.wrap(m)
	}
	s.base = m.State()
	s.journal = s.journal[:0]
}

// step delivers an event, checks the answer and carries it out, unless the
// process dies meanwhile.
func (s *simulation) step(e Event) {
	if s.err != nil {
		return
	}
	s.steps++
	crash := s.crashed < 4 && chance(s.r, s.scene.crashes) && !isRecovered(e)
	how := 0
	if crash {
		if how = s.r.IntN(3); how == 0 { // the event is lost
			s.crash()
			return
		}
	}
	now := s.clock()
	s.before.Progress = s.machine.state.Progress
	s.before.Components = append(s.before.Components[:0], s.machine.state.Components...)
	s.before.Removals = append(s.before.Removals[:0], s.machine.state.Removals...)
	s.oracle.hear(e, &s.before, now)
	update := s.stepper.Step(e, now)
	if s.trace {
		s.events = append(s.events, fmt.Sprintf("%4d %T%+v -> %+v", s.now, e, e, update.Effects))
	}
	if update.Changed() {
		s.journal = append(s.journal, update.Change)
	}
	if s.err = s.oracle.check(e, &s.before, &s.machine.state, update.Effects, now); s.err != nil {
		return
	}
	if s.steps%16 == 0 {
		if s.err = s.everyWaitHasAReason(); s.err != nil {
			return
		}
	}
	for _, effect := range update.Effects {
		if how == 1 || how == 2 && chance(s.r, 0.5) {
			continue // the process died before it
		}
		s.carryOut(effect)
	}
	if crash {
		s.crash()
	}
}

func (s *simulation) carryOut(effect Effect) {
	switch effect := effect.(type) {
	case Sync:
		s.sync(s.names[effect.Component], effect.Attempt)
	case Remove:
		s.remove(s.names[effect.Component], effect.Attempt)
	case WakeAt:
		if effect.At.IsZero() {
			return
		}
		in := int((effect.At.Sub(s.clock()) + time.Second - 1) / time.Second)
		s.in(max(in, 0)+s.r.IntN(2), true, func() { s.step(Tick{}) })
	}
}

// crash ends the process and starts another one from what was persisted.
func (s *simulation) crash() {
	s.crashed++
	// What was being applied may have come to its end, unheard.
	for i, c := range s.machine.state.Components {
		if c.Status == Syncing && s.things[i].syncs >= s.things[i].failFirst && chance(s.r, 0.4) {
			s.apply(i)
		}
	}
	for i, c := range s.machine.state.Removals {
		if l := &s.leavers[i]; c.Status == Removing && l.ended >= l.failFirst && l.begun > l.hangFirst && chance(s.r, 0.4) {
			l.gone = true
		}
	}
	s.die()
	s.now += s.r.IntN(20)
	m, err := s.persisted()
	if err != nil {
		s.err = fmt.Errorf("invariant 5: %w", err)
		return
	}
	s.adopt(m)
	s.step(Recovered{})
	s.watch()
}

// persisted reads the journal back. It must give the state, but for when things
// were last seen, which another process forgets anyway.
func (s *simulation) persisted() (*Machine, error) {
	state, journal := s.base.clone(), s.journal
	if s.crashed%4 == 0 { // the text of a journal is slow to read
		var err error
		if journal, err = throughJSON(journal); err != nil {
			return nil, err
		}
	}
	for _, c := range journal {
		state.Replay(c)
	}
	state, err := throughJSON(state)
	if err != nil {
		return nil, err
	}
	want, got := s.machine.State(), state.clone()
	for i := range want.Components {
		want.Components[i].Seen, got.Components[i].Seen = Sighting{}, Sighting{}
	}
	for i := range want.Removals {
		want.Removals[i].Seen, got.Removals[i].Seen = Sighting{}, Sighting{}
	}
	if !reflect.DeepEqual(want.Components, got.Components) || !reflect.DeepEqual(want.Removals, got.Removals) || !reflect.DeepEqual(want.Progress, got.Progress) {
		return nil, fmt.Errorf("the journal gives\n%+v\nnot\n%+v", got, want)
	}
	return Restore(state)
}

// throughJSON is a value after it was written and read.
func throughJSON[T any](v T) (read T, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return read, err
	}
	return read, json.Unmarshal(text, &read)
}

// people plans what users do.
func (s *simulation) people() {
	for k, step := range s.truth.Steps {
		if step.held() && chance(s.r, 0.7) {
			s.in(s.r.IntN(60), false, func() { s.step(Approve{Step: k, By: "ann"}) })
		}
	}
	if !s.scene.users {
		return
	}
	for range s.r.IntN(3) {
		at := s.r.IntN(60)
		s.in(at, false, func() { s.step(Pause{By: "ann"}) })
		s.in(at+s.r.IntN(30), false, func() { s.again(Resume{}) })
	}
	if !s.scene.calm && chance(s.r, 0.15) {
		s.in(s.r.IntN(90), false, func() { s.step(Abort{By: "ann"}) })
	}
	if !s.scene.calm && chance(s.r, 0.2) {
		i := s.r.IntN(len(s.truth.Components))
		s.in(s.r.IntN(120), false, func() { s.again(Retry{Component: s.truth.Components[i].Name}) })
	}
	if n := len(s.truth.Remove); n > 0 && !s.scene.calm && chance(s.r, 0.2) {
		i := s.r.IntN(n)
		s.in(s.r.IntN(200), false, func() { s.again(Retry{Component: s.truth.Remove[i].Name}) })
	}
}

// again takes up a rollout by hand; whoever does so watches from the start.
func (s *simulation) again(e Event) {
	ended := s.machine.Result() != Running
	s.step(e)
	if ended && s.err == nil && s.machine.Result() == Running {
		s.die()
		for _, c := range s.machine.state.Components {
			if c.Status == Syncing {
				s.sync(s.names[c.Name], c.Attempt)
			}
		}
		for i, c := range s.machine.state.Removals {
			if c.Status == Removing {
				s.remove(i, c.Attempt)
			}
		}
		s.carryOut(s.machine.NextWake())
		s.watch()
	}
}

// comeBack takes up a rollout that has ended, now and then.
func (s *simulation) comeBack() bool {
	result := s.machine.Result()
	if s.scene.calm || result == Succeeded || s.retries >= 2 || !chance(s.r, 0.5) {
		return false
	}
	s.retries++
	var e Event = Retry{}
	if result == ResultAborted && chance(s.r, 0.7) {
		e = Resume{}
	}
	s.again(e)
	return true
}

// unblock does what only people can do, when nothing else is left.
func (s *simulation) unblock() bool {
	if s.oracle.paused {
		s.step(Resume{})
		return true
	}
	for k := range s.truth.Steps {
		if s.oracle.held(k) {
			s.step(Approve{Step: k})
			return true
		}
	}
	return false
}

// everyWaitHasAReason asks why every component waits.
func (s *simulation) everyWaitHasAReason() error {
	for _, list := range [][]ComponentState{s.machine.state.Components, s.machine.state.Removals} {
		for _, c := range list {
			blockers := s.machine.BlockedBy(c.Name)
			waits := c.Status != Done && c.Status != Removed && !c.Status.Bad() && c.Status != Aborted
			if waits && len(blockers) == 0 {
				return fmt.Errorf("invariant 6: %s is %s for no reason", c.Name, c.Status)
			}
			for _, b := range blockers {
				if b.Reason == "" {
					return fmt.Errorf("invariant 6: %s waits for something unsaid: %+v", c.Name, b)
				}
			}
		}
	}
	return nil
}

// atEnd checks a rollout that has ended.
func (s *simulation) atEnd() error {
	if err := s.everyWaitHasAReason(); err != nil {
		return err
	}
	if s.machine.Result() == ResultFailed {
		for _, c := range append(s.machine.State().Components, s.machine.state.Removals...) {
			if c.Status != Blocked {
				continue
			}
			named := false
			for _, b := range s.machine.BlockedBy(c.Name) {
				for _, name := range []string{b.Component, b.Root} {
					if root, ok := s.machine.Component(name); ok && root.Status.Bad() {
						named = true
					}
				}
			}
			if !named {
				return fmt.Errorf("invariant 6: blocked %s names no failure: %+v", c.Name, s.machine.BlockedBy(c.Name))
			}
		}
	}
	if !s.scene.calm {
		return nil
	}
	all := true
	for i, want := range predict(s.scene) {
		got := s.machine.state.Components[i].Status == Done
		all = all && want
		if got && !want || want && !got && s.truth.OnFailure == Continue {
			return fmt.Errorf("invariant 5: %s ends %s, healthy expected: %v",
				s.truth.Components[i].Name, s.machine.state.Components[i].Status, want)
		}
	}
	for i, want := range predictRemovals(s.scene, all) {
		got := s.machine.state.Removals[i].Status == Removed
		all = all && want
		if got != s.leavers[i].gone || got && !want || want && !got && s.truth.OnFailure == Continue {
			return fmt.Errorf("invariant 5, 8: %s ends %s, gone %v, removal expected: %v",
				s.truth.Remove[i].Name, s.machine.state.Removals[i].Status, s.leavers[i].gone, want)
		}
	}
	if got := s.machine.Result(); (got == Succeeded) != all {
		return fmt.Errorf("invariant 5: ends %s, success expected: %v", got, all)
	}
	return nil
}

// TestSimulation keeps the invariants over random rollouts with seeded faults.
func TestSimulation(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = min(n, 5_000)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // many small worlds, little memory
	var next, steps, crashes, failures, removed, kept atomic.Int64
	var ends [5]atomic.Int64
	kinds := []Result{Succeeded, ResultFailed, ResultAborted, ResultTimedOut}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for failures.Load() < 5 {
				k := next.Add(1) - 1
				if k >= int64(n) {
					return
				}
				seed := *firstSeed + uint64(k)
				s, err := simulate(seed, nil, nil, false)
				if err != nil {
					failures.Add(1)
					t.Errorf("%v\nreproduce: go test ./internal/core/rollout -run 'TestSimulation$' -seed=%d -schedules=1 -v", err, seed)
					if n == 1 {
						s, _ := simulate(seed, nil, nil, true)
						for _, line := range s.events {
							t.Log(line)
						}
					}
					continue
				}
				steps.Add(int64(s.steps))
				crashes.Add(int64(s.crashed))
				for _, c := range s.machine.state.Removals {
					if c.Status == Removed {
						removed.Add(1)
					} else if c.Status.Bad() || c.Status == Aborted {
						kept.Add(1)
					}
				}
				for r, kind := range kinds {
					if s.machine.Result() == kind {
						ends[r].Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d schedules, %d events, %d crashes; %d removed, %d removals failed", n, steps.Load(), crashes.Load(), removed.Load(), kept.Load())
	if n >= 5_000 && min(removed.Load(), 10*kept.Load()) < int64(n)/4 && !t.Failed() {
		t.Errorf("hardly anything is removed: the simulation has lost its teeth")
	}
	for r, kind := range kinds {
		t.Logf("%7d %s", ends[r].Load(), kind)
		if n >= 5_000 && ends[r].Load() < int64(n)/200 && !t.Failed() {
			t.Errorf("hardly any schedule ends %s: the simulation has lost its teeth", kind)
		}
	}
}

// TestSimulationIsDeterministic runs a seed twice.
func TestSimulationIsDeterministic(t *testing.T) {
	for seed := range uint64(200) {
		a, _ := simulate(seed, nil, nil, true)
		b, _ := simulate(seed, nil, nil, true)
		if fmt.Sprint(a.events) != fmt.Sprint(b.events) {
			t.Fatalf("seed %d gives two traces", seed)
		}
	}
}
