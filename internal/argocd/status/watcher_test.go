package status

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// cluster is an API server in memory whose Applications the test writes.
type cluster struct {
	t      *testing.T
	client *fake.FakeDynamicClient
}

func newCluster(t *testing.T, objects ...runtime.Object) cluster {
	lists := map[schema.GroupVersionResource]string{Applications(): "ApplicationList", ApplicationSets(): "ApplicationSetList", Projects(): "AppProjectList"}
	return cluster{t, fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)}
}

func (c cluster) write(obj *unstructured.Unstructured) {
	c.t.Helper()
	if _, err := c.client.Resource(Applications()).Namespace(obj.GetNamespace()).Update(c.t.Context(), obj, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func named(t *testing.T, name, patch string) *unstructured.Unstructured {
	obj := object(t, "single.yaml", patch)
	obj.SetName(name)
	return obj
}

// told collects what a Watcher tells.
type told struct {
	mu   sync.Mutex
	all  []executor.Observation
	more chan struct{}
}

func start(t *testing.T, w *Watcher) *told {
	o := &told{more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- w.Watch(ctx, func(seen executor.Observation) {
			o.mu.Lock()
			o.all = append(o.all, seen)
			o.mu.Unlock()
			select {
			case o.more <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
		w.Close()
	})
	return o
}

// until waits until a component looks so; it returns how often it was told.
func (o *told) until(t *testing.T, component string, health rollout.Health, revision string) int {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		o.mu.Lock()
		times, last := 0, executor.Observation{}
		for _, seen := range o.all {
			if seen.Component == component {
				times, last = times+1, seen
			}
		}
		o.mu.Unlock()
		if last.Health == health && last.Revision == revision {
			return times
		}
		select {
		case <-o.more:
		case <-deadline:
			t.Fatalf("%s is %+v", component, last)
		}
	}
}

func TestWatcher(t *testing.T) {
	c := newCluster(t, named(t, "a", ""), named(t, "b", waiting), named(t, "other", ""))
	w, err := New(Config{Client: c.client, Want: Want{Revision: wanted}, Applications: map[string]Ref{
		"a": {"argocd", "a"}, "b": {"argocd", "b"}, "late": {"argocd", "late"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	seen := start(t, w)
	seen.until(t, "a", rollout.Healthy, wanted)
	seen.until(t, "b", rollout.Progressing, "")
	seen.until(t, "late", rollout.Missing, "")
	if _, err := c.client.Resource(Applications()).Namespace("argocd").Create(t.Context(), named(t, "late", `status: {health: {status: Degraded}}`), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen.until(t, "late", rollout.Degraded, wanted)
	c.write(named(t, "b", ""))
	seen.until(t, "b", rollout.Healthy, wanted)
	if err := c.client.Resource(Applications()).Namespace("argocd").Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	seen.until(t, "b", rollout.Missing, "")
	if n := seen.until(t, "a", rollout.Healthy, wanted); n != 1 {
		t.Errorf("what did not change was told %d times", n)
	}
	names := ""
	for _, a := range w.All() {
		names += a.Ref.Name + " "
	}
	if names != "a late other " {
		t.Errorf("all: %s", names)
	}
}

// A sync window that keeps an automated Application waiting is told.
func TestWatcherWindow(t *testing.T) {
	project := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": map[string]any{"name": "default", "namespace": "argocd"},
		"spec": map[string]any{"syncWindows": []any{map[string]any{"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": []any{"*"}}}},
	}}
	c := newCluster(t, project, named(t, "a", `status: {sync: {status: OutOfSync}}`))
	w, err := New(Config{Client: c.client, Want: Want{Revision: wanted}, Applications: map[string]Ref{"a": {"argocd", "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, w).until(t, "a", rollout.Progressing, "")
	if why := w.Why("a"); len(why) != 1 || why[0].Code != WindowClosed {
		t.Errorf("why: %v", why)
	}
}

// An Application that cannot be read is not Healthy, and the others are.
func TestWatcherUnreadable(t *testing.T) {
	broken := named(t, "a", "")
	if err := unstructured.SetNestedField(broken.Object, "text", "spec", "source"); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, broken, named(t, "b", ""))
	w, err := New(Config{Client: c.client, Want: Want{Revision: wanted}, Applications: map[string]Ref{"a": {"argocd", "a"}, "b": {"argocd", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	seen := start(t, w)
	seen.until(t, "a", rollout.Unknown, "")
	seen.until(t, "b", rollout.Healthy, wanted)
}

func TestWatcherRefused(t *testing.T) {
	c := newCluster(t)
	refused := apierrors.NewForbidden(schema.GroupResource{Group: Group, Resource: "applications"}, "", errors.New("no"))
	c.client.PrependReactor("list", "applications", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	w, err := New(Config{Client: c.client, Want: Want{Revision: wanted}, Applications: map[string]Ref{"a": {"argocd", "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if err := w.Watch(t.Context(), func(executor.Observation) {}); !apierrors.IsForbidden(err) {
		t.Errorf("error = %v", err)
	}
}

// Sets that may not be read keep nothing else from being seen.
func TestWatcherWithoutSets(t *testing.T) {
	c := newCluster(t, named(t, "a", ""))
	refused := apierrors.NewForbidden(schema.GroupResource{Group: Group, Resource: "applicationsets"}, "", errors.New("no"))
	c.client.PrependReactor("list", "applicationsets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	w, err := New(Config{Client: c.client, Want: Want{Revision: wanted}, Applications: map[string]Ref{"a": {"argocd", "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, w).until(t, "a", rollout.Healthy, wanted)
}

// A comparison is known to have begun after a sync only when it was asked for
// after the sync had ended, and is done.
func TestFollowComparison(t *testing.T) {
	const asks = `metadata: {annotations: {argocd.argoproj.io/refresh: normal}}`
	const runs = `status: {operationState: {phase: Running, finishedAt: null}}`
	const runsAsking = `{metadata: {annotations: {argocd.argoproj.io/refresh: normal}}, status: {operationState: {phase: Running, finishedAt: null}}}`
	const next = `status: {operationState: {startedAt: "2026-01-01T12:00:30Z", finishedAt: "2026-01-01T12:00:31Z"}}`
	for name, tc := range map[string]struct {
		versions []string
		want     bool
	}{
		"nothing asked":         {[]string{"", ""}, false},
		"asked":                 {[]string{"", asks}, false},
		"asked and done":        {[]string{"", asks, ""}, true},
		"stays done":            {[]string{"", asks, "", "", asks}, true},
		"asked before the end":  {[]string{runs, runsAsking, asks, ""}, false},
		"first seen asking":     {[]string{asks, ""}, false},
		"another sync since":    {[]string{"", asks, "", next}, false},
		"asked for another one": {[]string{"", asks, next}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var before *entry
			for _, patch := range tc.versions {
				e := &entry{application: parsedObject(t, "single.yaml", patch)}
				if before != nil {
					e.asked, e.recompared = carryOver(before, e.application)
				}
				before = e
			}
			if before.recompared != tc.want {
				t.Errorf("recompared = %v", before.recompared)
			}
		})
	}
}

// One event costs the same, whatever the number of Applications.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int{100, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			refs := map[string]Ref{}
			w, err := New(Config{Client: fake.NewSimpleDynamicClient(runtime.NewScheme()), Want: Want{Revision: wanted}, Applications: refs})
			if err != nil {
				b.Fatal(err)
			}
			base := object(b, "single.yaml", "")
			for i := range n {
				name := fmt.Sprintf("app-%d", i)
				ref := Ref{"argocd", name}
				refs[name], w.components[ref] = ref, []string{name}
				obj := base.DeepCopy()
				obj.SetName(name)
				p, _ := parse(obj)
				w.see(p)
			}
			w.take()
			b.ReportAllocs()
			for b.Loop() {
				obj := base.DeepCopy()
				obj.SetName("app-7")
				p, _ := parse(obj)
				w.see(p)
				w.take()
			}
		})
	}
}
