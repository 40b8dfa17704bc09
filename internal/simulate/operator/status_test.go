package operator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestConditionsAreCompleted adds to conditions, at any depth, when they changed
// last and for which generation they hold.
func TestConditionsAreCompleted(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	const then = "2026-03-04T11:00:00Z"
	status := map[string]any{
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True"},                               // as before
			map[string]any{"type": "Synced", "status": "False"},                             // changed
			map[string]any{"type": "New", "status": "True", "observedGeneration": int64(1)}, // says its own
			"not a condition",
		},
		"listeners": []any{
			map[string]any{"name": "http", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
			map[string]any{"name": "https", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}, // is new
		},
		"inner": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}
	old := map[string]any{
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": then},
			map[string]any{"type": "Synced", "status": "True", "lastTransitionTime": then},
		},
		"listeners": []any{
			map[string]any{"name": "http", "conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": then}}},
		},
	}
	complete(status, old, 4, now)
	condition := func(kind, state, since string, generation int64) map[string]any {
		return map[string]any{"type": kind, "status": state, "lastTransitionTime": since, "observedGeneration": generation}
	}
	const changed = "2026-03-04T12:00:00Z"
	want := map[string]any{
		"conditions": []any{
			condition("Ready", "True", then, 4), condition("Synced", "False", changed, 4),
			condition("New", "True", changed, 1), "not a condition",
		},
		"listeners": []any{
			map[string]any{"name": "http", "conditions": []any{condition("Ready", "True", then, 4)}},
			map[string]any{"name": "https", "conditions": []any{condition("Ready", "True", changed, 4)}},
		},
		"inner": map[string]any{"conditions": []any{condition("Ready", "True", changed, 4)}},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGenerationsAreDropped at any depth.
func TestGenerationsAreDropped(t *testing.T) {
	status := map[string]any{"observedGeneration": int64(2), "phase": "Ready"}
	status["conditions"] = []any{map[string]any{"type": "Ready", "observedGeneration": int64(4)}, "not a condition"}
	dropGenerations(status)
	want := map[string]any{"phase": "Ready", "conditions": []any{map[string]any{"type": "Ready"}, "not a condition"}}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContains(t *testing.T) {
	have := map[string]any{"a": int64(1), "b": map[string]any{"c": "x", "d": true}, "l": []any{"1", map[string]any{"e": 2.0, "f": "y"}}}
	cases := map[string]struct {
		want any
		is   bool
	}{
		"nothing":               {map[string]any{}, true},
		"a part":                {map[string]any{"b": map[string]any{"c": "x"}}, true},
		"another number type":   {map[string]any{"a": 1.0}, true},
		"a part of a list item": {map[string]any{"l": []any{"1", map[string]any{"e": 2}}}, true},
		"another value":         {map[string]any{"b": map[string]any{"c": "z"}}, false},
		"a field that is not":   {map[string]any{"z": "x"}, false},
		"a shorter list":        {map[string]any{"l": []any{"1"}}, false},
		"a map for a text":      {map[string]any{"a": map[string]any{}}, false},
		"a list for a map":      {map[string]any{"b": []any{}}, false},
	}
	for name, tc := range cases {
		if got := contains(have, tc.want); got != tc.is {
			t.Errorf("%s: %v, want %v", name, got, tc.is)
		}
	}
}

// TestSteadyGeneration: of a kind without a status subresource a rule sees a new generation only where
// somebody else wrote the object.
func TestSteadyGeneration(t *testing.T) {
	e := &Engine{objects: map[string]*subject{}, owned: map[types.UID]string{}}
	for i, step := range []struct {
		size, written, seen int64
		status              bool
	}{
		{size: 1, written: 3, seen: 3},
		{size: 1, written: 4, seen: 3, status: true},
		{size: 1, written: 5, seen: 3, status: true},
		{size: 2, written: 6, seen: 6, status: true},
		{size: 2, written: 7, seen: 6, status: true},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "one"}, "spec": map[string]any{"size": step.size}}}
		o.SetGeneration(step.written)
		if step.status {
			o.Object["status"] = map[string]any{"seen": step.written}
		}
		if got := e.steady("k", o); got.GetGeneration() != step.seen || got.GetUID() != "one" {
			t.Errorf("%d: generation %d, want %d", i, got.GetGeneration(), step.seen)
		}
		if o.GetGeneration() != step.written {
			t.Errorf("%d: the object of the cache was changed", i)
		}
	}
}
