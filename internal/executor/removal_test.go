package executor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// Remove implements executor.Engine: what is removed once is gone.
func (e *engine) Remove(ctx context.Context, component string) ([]finding.Resource, error) {
	e.mu.Lock()
	script := e.remove
	e.mu.Unlock()
	if script != nil {
		if err := script(ctx, component); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.removed = append(e.removed, component)
	return e.left, nil
}

// vanished adds a chain of components to be removed: each required the one
// before.
func vanished(spec rollout.Spec, n int) rollout.Spec {
	for i := range n {
		r := rollout.RemovalSpec{Name: fmt.Sprintf("v%d", i)}
		if i > 0 {
			r.Requires, r.EdgesKnown = []string{fmt.Sprintf("v%d", i-1)}, true
		}
		spec.Remove = append(spec.Remove, r)
	}
	return spec
}

func TestRemovesInReverse(t *testing.T) {
	spec := vanished(chain(3), 4)
	e := newEngine(spec)
	e.left = []finding.Resource{{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}}
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e, Store: folder(t, t.TempDir())})
	if outcome.Result != rollout.Succeeded {
		t.Fatalf("result %s: %s", outcome.Result, outcome.State.Message)
	}
	if diff := cmp.Diff([]string{"v3", "v2", "v1", "v0"}, e.removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if message := outcome.State.Removals[0].Message; !strings.Contains(message, "PersistentVolumeClaim shop/data") {
		t.Errorf("what was left is not named: %q", message)
	}
}

func TestRefusedRemoval(t *testing.T) {
	spec := vanished(chain(1), 2)
	e := newEngine(spec)
	namespace := finding.Resource{Kind: "Namespace", Name: "shop"}
	e.remove = func(_ context.Context, component string) error {
		if component == "v0" {
			return &executor.ObjectError{Object: namespace, Message: "holds objects of c000", Final: true}
		}
		return nil
	}
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e})
	v0 := outcome.State.Removals[0]
	if outcome.Result != rollout.ResultFailed || v0.Status != rollout.Failed || v0.Object != namespace || v0.Message != "holds objects of c000" {
		t.Errorf("result %s, %+v", outcome.Result, v0)
	}
}

// A run that dies at any write goes on where it stood, by the list it began
// with: what is gone already is not in the cluster any more.
func TestCrashDuringRemoval(t *testing.T) {
	spec := vanished(chain(2), 3)
	for writes := range 30 {
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
			again := spec
			again.Remove = slices.DeleteFunc(slices.Clone(spec.Remove), func(r rollout.RemovalSpec) bool { return slices.Contains(e.removed, r.Name) })
			outcome := run(t, deadline(t), executor.Config{Spec: again, Engine: e, Store: folder(t, dir)})
			if outcome.Result != rollout.Succeeded {
				t.Errorf("result after the crash = %s: %s", outcome.Result, outcome.State.Message)
			}
			if got := slices.Compact(slices.Clone(e.removed)); !cmp.Equal(got, []string{"v2", "v1", "v0"}) {
				t.Errorf("removed %v", e.removed)
			}
		})
	}
}

func TestAbortCancelsRemoval(t *testing.T) {
	spec := vanished(chain(1), 2)
	e := newEngine(spec)
	control := make(chan rollout.Event)
	deleting := make(chan struct{})
	e.remove = func(ctx context.Context, _ string) error {
		close(deleting)
		<-ctx.Done()
		return ctx.Err()
	}
	go func() {
		<-deleting
		control <- rollout.Abort{By: "alice"}
	}()
	outcome := run(t, deadline(t), executor.Config{Spec: spec, Engine: e, Control: control})
	v0, v1 := outcome.State.Removals[0], outcome.State.Removals[1]
	if outcome.Result != rollout.ResultAborted || v1.Status != rollout.Aborted || v0.Status != rollout.Blocked {
		t.Errorf("result %s: v0 %s, v1 %s", outcome.Result, v0.Status, v1.Status)
	}
	if len(outcome.Blocked["v0"]) == 0 {
		t.Error("nothing says what v0 waits for")
	}
}
