package engine

import (
	"context"
	"flag"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

var (
	schedules = flag.Int("schedules", 50, "number of simulated rollouts over faults")
	firstSeed = flag.Uint64("seed", 1, "seed of the first simulated rollout")
)

// journey is what a simulated rollout went through.
type journey struct{ processes, kills, errors, operations int }

// over drives a rollout to its end: processes are killed, or end at an error of the
// API server, and the next one takes up.
func (w *world) over(ctx context.Context, t *testing.T) (j journey) {
	spec := rollout.Spec{Revision: commit, Policy: rollout.Edges, OnFailure: rollout.Halt, Steps: []rollout.StepSpec{{Label: "100"}}}
	for _, name := range w.names() {
		spec.Components = append(spec.Components, rollout.ComponentSpec{
			Name: name, Requires: w.requires[name], Timeout: 2 * time.Minute, Retry: rollout.RetrySpec{Limit: -1, Duration: time.Second},
		})
	}
	for ; j.processes < 100; j.processes++ {
		p := w.process(j.processes, "run-1")
		alive, kill := context.WithCancel(ctx)
		if w.dice.roll(2, "kill") == 0 {
			life := time.AfterFunc(time.Duration(w.dice.roll(120_000, "life"))*time.Millisecond, func() {
				p.link.dead.Store(true)
				kill()
			})
			defer life.Stop()
		}
		// Whoever waits for a mutex stops the clock of the simulation, so that
		// nobody may wait for this.
		err := p.Prepare(alive)
		var outcome executor.Outcome
		if err == nil {
			outcome, err = executor.Run(alive, executor.Config{Spec: spec, Engine: p, Store: p})
		}
		kill()
		p.Close()
		switch {
		case p.link.dead.Load():
			j.kills++
			continue
		case ctx.Err() != nil:
			t.Fatalf("it waits for ever: %+v, %v", outcome.Blocked, err)
		case err != nil:
			j.errors++
			continue
		case outcome.Result != rollout.Succeeded:
			t.Fatalf("result %s: %s", outcome.Result, outcome.State.Message)
		}
		return j
	}
	t.Fatal("a hundred processes did not bring it to its end")
	return j
}

// giveBack ends a rollout, as often as the API server makes it necessary.
func (w *world) giveBack(ctx context.Context, t *testing.T) {
	for i := range 100 {
		p := w.process(1000+i, "run-1")
		err := p.Release(ctx)
		p.Close()
		if err == nil {
			return
		}
	}
	t.Fatal("it was not given back in a hundred attempts")
}

// finished looks at the end of a rollout that succeeded, and counts its operations.
func (w *world) finished(t *testing.T) (operations int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, done := range w.done {
		if !done {
			t.Errorf("%s is not Healthy at the revision", name)
		}
		operations += len(w.tokens[name])
	}
	return operations
}

func (w *world) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range w.violations {
		t.Error(v)
	}
}

// silent drops the errors of client-go, which it writes to the log at most once a
// millisecond, by a time that is shared with the world outside of a simulation.
func silent(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil                            //nolint:reassign // there is no other way to replace them
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers }) //nolint:reassign // they are put back
}

// Requests fail before they arrive or after they were carried out, objects change
// under them, watches break off, operations fail and hang, and processes are
// killed, with requests of theirs on the way: no attempt asks for two operations,
// no operation is overwritten, nothing starts before what it requires is Healthy at
// the revision, and what was held is given back exactly.
func TestFaults(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = min(n, 10)
	}
	silent(t)
	var sum journey
	for i := range n {
		seed := *firstSeed + uint64(i)
		ok := t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))) // after what idle Applications tell
				w := newWorld(t, seed)
				before := w.policies()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
				running, stop := context.WithCancel(context.Background())
				var controllers sync.WaitGroup
				defer func() { cancel(); stop(); controllers.Wait() }()
				w.controllers(running, &controllers)
				j := w.over(ctx, t)
				w.giveBack(ctx, t)
				if diff := cmp.Diff(before, w.policies()); diff != "" {
					t.Errorf("not given back as it was (-before +after):\n%s", diff)
				}
				w.check(t)
				sum.operations += w.finished(t)
				sum.processes, sum.kills, sum.errors = sum.processes+j.processes+1, sum.kills+j.kills, sum.errors+j.errors
			})
		})
		if !ok {
			t.Fatalf("reproduce: go test ./internal/argocd/engine -run 'TestFaults$' -seed=%d -schedules=1 -v", seed)
		}
	}
	t.Logf("%d rollouts, %d processes, %d killed, %d ended by an error, %d operations", n, sum.processes, sum.kills, sum.errors, sum.operations)
	if n >= 50 && (sum.kills < n/4 || sum.errors < n/10) {
		t.Error("hardly anything happens: the simulation has lost its teeth")
	}
}

// Two drivers work on the same Applications at once, as they do where neither
// hears of the lease: none overwrites an operation of the other, and what was held
// is given back exactly.
func TestTwoDrivers(t *testing.T) {
	silent(t)
	for name, runs := range map[string][]string{"of one run": {"run-1", "run-1"}, "of two runs": {"run-1", "run-2"}} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)))
					w := newWorld(t, *firstSeed+seed)
					w.requires = map[string][]string{}
					before := w.policies()
					running, stop := context.WithCancel(context.Background())
					var controllers, drivers sync.WaitGroup
					defer func() { stop(); controllers.Wait() }()
					w.controllers(running, &controllers)
					for i, run := range runs {
						drivers.Go(func() { w.syncAll(t, w.process(i, run)) })
					}
					drivers.Wait()
					w.giveBack(t.Context(), t)
					if diff := cmp.Diff(before, w.policies()); diff != "" {
						t.Errorf("seed %d: not given back as it was (-before +after):\n%s", seed, diff)
					}
					w.check(t)
				})
			}
		})
	}
}

// syncAll syncs every component until it has succeeded.
func (w *world) syncAll(t *testing.T, p *process) {
	defer p.Close()
	for p.Prepare(t.Context()) != nil {
		time.Sleep(time.Second)
	}
	for _, name := range w.names() {
		for p.Sync(t.Context(), name) != nil {
			time.Sleep(time.Second)
		}
	}
}
