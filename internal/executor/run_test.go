package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/store"
)

// engine is a scripted engine in memory: what it holds outlives a run, like a
// cluster.
type engine struct {
	mu      sync.Mutex
	synced  []string
	healthy map[string]bool
	// sync, if set, is asked instead of succeeding.
	sync func(ctx context.Context, component string, attempt int) error
	// unhealthy components never become Healthy by themselves.
	unhealthy map[string]bool
	sink      func(executor.Observation)
	all       []string
	revision  string
	active    map[string]int
	watchErr  error
	// removed are the removals that ended well; remove, if set, is asked instead
	// of succeeding; left is what they leave.
	removed []string
	remove  func(ctx context.Context, component string) error
	left    []finding.Resource
}

func newEngine(spec rollout.Spec) *engine {
	e := &engine{healthy: map[string]bool{}, unhealthy: map[string]bool{}, active: map[string]int{}, revision: spec.Revision}
	for _, c := range spec.Components {
		e.all = append(e.all, c.Name)
	}
	return e
}

func (e *engine) Sync(ctx context.Context, component string) error {
	e.mu.Lock()
	e.synced = append(e.synced, component)
	attempt := 0
	for _, s := range e.synced {
		if s == component {
			attempt++
		}
	}
	e.active[component]++
	if e.active[component] > 1 {
		panic("two syncs of " + component + " at once")
	}
	script := e.sync
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.active[component]--
		e.mu.Unlock()
	}()
	if script != nil {
		if err := script(ctx, component, attempt); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.unhealthy[component] {
		e.healthy[component] = true
		e.tell(component)
	}
	return nil
}

// tell reports a component; the caller holds mu.
func (e *engine) tell(component string) {
	if e.sink == nil {
		return
	}
	o := executor.Observation{Component: component, Health: rollout.Missing}
	if e.healthy[component] {
		o.Health, o.Revision = rollout.Healthy, e.revision
	}
	e.sink(o)
}

func (e *engine) Watch(ctx context.Context, sink func(executor.Observation)) error {
	if e.watchErr != nil {
		return e.watchErr
	}
	e.mu.Lock()
	e.sink = sink
	for _, c := range e.all {
		e.tell(c)
	}
	e.mu.Unlock()
	<-ctx.Done()
	e.mu.Lock()
	e.sink = nil
	e.mu.Unlock()
	return nil
}

// chain is a spec of components that each require the one before.
func chain(n int) rollout.Spec {
	spec := rollout.Spec{Revision: "r1", Policy: rollout.Edges, OnFailure: rollout.Halt, Steps: []rollout.StepSpec{{Label: "100"}}}
	for i := range n {
		c := rollout.ComponentSpec{Name: fmt.Sprintf("c%03d", i), Retry: rollout.RetrySpec{Limit: 2, Duration: time.Minute, Factor: 2, MaxDuration: time.Hour}}
		if i > 0 {
			c.Requires = []string{fmt.Sprintf("c%03d", i-1)}
		}
		spec.Components = append(spec.Components, c)
	}
	return spec
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func folder(t *testing.T, dir string) *store.Folder {
	t.Helper()
	f, err := store.Open(dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func run(t *testing.T, ctx context.Context, config executor.Config) executor.Outcome {
	t.Helper()
	outcome, err := executor.Run(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestChainRunsInOrder(t *testing.T) {
	spec := chain(50)
	e := newEngine(spec)
	var notices int
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e, Store: folder(t, t.TempDir()), Sink: func(n executor.Notice) {
		notices++
		for _, c := range n.Components {
			if got, ok := n.View.Component(c.Name); !ok || got.Name != c.Name {
				t.Errorf("view lacks %s", c.Name)
			}
		}
	}})
	if outcome.Result != rollout.Succeeded || outcome.Interrupted || outcome.Resumed || len(outcome.Blocked) != 0 {
		t.Errorf("outcome = %+v", outcome)
	}
	if diff := cmp.Diff(e.all, e.synced); diff != "" {
		t.Errorf("order of syncs: %s", diff)
	}
	if notices == 0 || len(outcome.Transitions) != 3*50 {
		t.Errorf("%d notices, %d transitions, want 3 for each component", notices, len(outcome.Transitions))
	}
	if outcome.Started.IsZero() || outcome.Finished.Before(outcome.Started) {
		t.Errorf("started %v, finished %v", outcome.Started, outcome.Finished)
	}
}

func TestFailureNamesTheObject(t *testing.T) {
	spec := chain(3)
	e := newEngine(spec)
	object := finding.Resource{Kind: "Secret", Namespace: "a", Name: "s"}
	e.sync = func(_ context.Context, component string, _ int) error {
		if component == "c001" {
			return fmt.Errorf("apply: %w", &executor.ObjectError{Object: object, Message: "is invalid", Final: true})
		}
		return nil
	}
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e})
	if outcome.Result != rollout.ResultFailed {
		t.Fatalf("result = %s", outcome.Result)
	}
	c := outcome.State.Components[1]
	if c.Status != rollout.Failed || c.Object != object || !strings.Contains(c.Message, "is invalid") {
		t.Errorf("component = %+v", c)
	}
	if len(outcome.Blocked["c002"]) == 0 {
		t.Error("nothing says what c002 waits for")
	}
}

// Retries wait on the injected clock, not on the real one.
func TestRetryUsesTheClock(t *testing.T) {
	spec := chain(1)
	e := newEngine(spec)
	e.sync = func(_ context.Context, _ string, attempt int) error {
		if attempt < 3 {
			return errors.New("webhook cannot be called")
		}
		return nil
	}
	began := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktesting.NewFakeClock(began)
	ctx := deadline(t)
	stop := make(chan struct{})
	var stepping sync.WaitGroup
	stepping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				clock.Step(5 * time.Second)
				runtime.Gosched() // lets the run take its turn
			}
		}
	})
	outcome := run(t, ctx, executor.Config{Spec: spec, Engine: e, Clock: clock})
	close(stop)
	stepping.Wait()
	if outcome.Result != rollout.Succeeded || len(e.synced) != 3 {
		t.Errorf("result %s after %d syncs", outcome.Result, len(e.synced))
	}
	if took := outcome.Finished.Sub(began); took < 3*time.Minute {
		t.Errorf("took %s, want at least the backoffs of 1 and 2 minutes", took)
	}
}

func TestInterruptedRunIsResumed(t *testing.T) {
	spec := chain(20)
	e := newEngine(spec)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(deadline(t))
	blocked := make(chan struct{})
	e.sync = func(ctx context.Context, component string, attempt int) error {
		if component == "c010" && attempt == 1 {
			close(blocked)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	go func() { <-blocked; cancel() }()
	f := folder(t, dir)
	first := run(t, ctx, executor.Config{Spec: spec, Engine: e, Store: f})
	if !first.Interrupted || first.Result != rollout.Running {
		t.Fatalf("outcome = interrupted %v, result %q", first.Interrupted, first.Result)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	other := spec
	other.Revision = "r2"
	var unfinished *executor.UnfinishedError
	f = folder(t, dir)
	for _, mode := range []executor.StartMode{executor.StartAuto, executor.StartResume} {
		_, err := executor.Run(deadline(t), executor.Config{Spec: other, Engine: e, Store: f, Start: mode})
		if !errors.As(err, &unfinished) || unfinished.Revision != "r1" {
			t.Fatalf("start mode %d: error = %v, want an UnfinishedError at r1", mode, err)
		}
	}
	second := run(t, deadline(t), executor.Config{Spec: spec, Engine: e, Store: f})
	if second.Result != rollout.Succeeded || !second.Resumed {
		t.Fatalf("result %s, resumed %v", second.Result, second.Resumed)
	}
	count := map[string]int{}
	for _, s := range e.synced {
		count[s]++
	}
	for _, c := range e.all {
		want := 1
		if c == "c010" {
			want = 2
		}
		if count[c] != want {
			t.Errorf("%s was synced %d times, want %d", c, count[c], want)
		}
	}
	if len(second.Transitions) <= len(first.Transitions) || !cmp.Equal(second.Transitions[:len(first.Transitions)], first.Transitions) {
		t.Error("the transitions of the first run are lost")
	}
}

// failing is a store that fails at one write and from then on, as if the process
// had died there: what was not persisted by then must not have been acted on.
type failing struct {
	*store.Folder
	left int
}

var errCrash = errors.New("crash")

func (f *failing) write() error {
	if f.left--; f.left < 0 {
		return errCrash
	}
	return nil
}

func (f *failing) Append(records ...json.RawMessage) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Folder.Append(records...)
}

func (f *failing) Snapshot(state json.RawMessage) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Folder.Snapshot(state)
}

func TestCrashAtAnyWrite(t *testing.T) {
	spec := chain(6)
	for writes := range 20 {
		t.Run(fmt.Sprint(writes), func(t *testing.T) {
			dir := t.TempDir()
			e := newEngine(spec)
			f := folder(t, dir)
			_, err := executor.Run(deadline(t), executor.Config{Spec: spec, Engine: e, Store: &failing{Folder: f, left: writes}})
			if err == nil {
				t.Skip("the rollout needs fewer writes")
			}
			if !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			f = folder(t, dir)
			again := executor.Config{Spec: spec, Engine: e, Store: f, Start: executor.StartResume}
			if writes == 0 {
				if _, err := executor.Run(deadline(t), again); !errors.Is(err, executor.ErrNothingSaved) {
					t.Errorf("resuming nothing: %v", err)
				}
				again.Start = executor.StartAuto
			}
			outcome := run(t, deadline(t), again)
			if outcome.Result != rollout.Succeeded {
				t.Errorf("result after the crash = %s: %s", outcome.Result, outcome.State.Message)
			}
			last := ""
			for _, s := range e.synced {
				if s < last {
					t.Errorf("synced %s after %s", s, last)
				}
				last = s
			}
		})
	}
}

func TestControl(t *testing.T) {
	spec := chain(3)
	e := newEngine(spec)
	control := make(chan rollout.Event)
	hold := make(chan struct{})
	e.sync = func(ctx context.Context, component string, _ int) error {
		if component == "c001" {
			close(hold)
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	go func() {
		<-hold
		control <- rollout.Abort{By: "alice"}
		close(control)
	}()
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e, Control: control})
	if outcome.Result != rollout.ResultAborted || !strings.Contains(outcome.State.Message, "alice") {
		t.Errorf("result %s: %s", outcome.Result, outcome.State.Message)
	}
	if slices.Contains(e.synced, "c002") {
		t.Error("c002 was started after the abort")
	}
}

func TestWatchThatEnds(t *testing.T) {
	spec := chain(1)
	e := newEngine(spec)
	e.watchErr = errors.New("forbidden")
	if _, err := executor.Run(deadline(t), executor.Config{Spec: spec, Engine: e}); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("error = %v", err)
	}
}

func TestThousandComponents(t *testing.T) {
	spec := chain(1000)
	for i := range spec.Components {
		if i%20 != 0 { // fifty chains of twenty
			continue
		}
		spec.Components[i].Requires = nil
	}
	spec.Policy = rollout.Edges
	e := newEngine(spec)
	f, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e, Store: f})
	if outcome.Result != rollout.Succeeded || len(e.synced) != 1000 {
		t.Errorf("result %s after %d syncs", outcome.Result, len(e.synced))
	}
}
