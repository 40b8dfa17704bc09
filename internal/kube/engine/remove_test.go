package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// earlier rolls out components one after the other, each requiring the ones
// that requires names, as a rollout that is over.
func (w *world) earlier(texts map[string]string, requires map[string][]string, order ...string) {
	w.t.Helper()
	var components []model.Component
	for _, name := range order {
		components = append(components, model.Component{Name: name})
	}
	e := w.scoped(texts, requires, components...)
	for _, name := range order {
		mustSync(w.t, w.context(), e, name)
	}
}

// scoped is an engine whose components are those of this test alone.
func (w *world) scoped(texts map[string]string, requires map[string][]string, components ...model.Component) *Engine {
	w.t.Helper()
	e := w.engine("r1", texts, components...)
	e.config.Scope, e.config.Requires = w.ns, requires
	return e
}

// live reads an object; nil for one that is not there.
func (w *world) live(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	client := w.client.Resource(gvr).Namespace(w.ns)
	if gvr == namespaces {
		client = w.client.Resource(gvr).Namespace("")
	}
	obj, err := client.Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return obj
}

// stands reports whether a ConfigMap is there and is not being deleted.
func (w *world) stands(name string) bool {
	cm := w.live(configMaps, name)
	return cm != nil && cm.GetDeletionTimestamp() == nil
}

func (w *world) release(name string) {
	w.t.Helper()
	_, err := w.client.Resource(configMaps).Namespace(w.ns).Patch(w.t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		w.t.Error(err)
	}
}

func (w *world) inventoryThere(component string) bool {
	w.t.Helper()
	_, err := w.client.Resource(configMaps).Namespace(inventoryNamespace).Get(w.t.Context(), owner{w.ns, component}.inventoryName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

const (
	ownNamespace = "{apiVersion: v1, kind: Namespace, metadata: {name: NS}}"
	held         = `
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last, finalizers: [example.com/hold], annotations: {argocd.argoproj.io/sync-wave: "1"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {argocd.argoproj.io/hook: SyncFail}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}}
`
)

// The order is known from the cluster alone; a component goes in reverse; what
// holds a deletion up is told; an interrupted one goes on.
func TestClusterRemove(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	base, db, app, stay := "base-"+w.ns, "db-"+w.ns, "app-"+w.ns, "stay-"+w.ns
	texts := map[string]string{
		base: ownNamespace, db: "{apiVersion: v1, kind: ConfigMap, metadata: {name: db}}", app: held,
		stay: "{apiVersion: v1, kind: Namespace, metadata: {name: NS-stay}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: stays, namespace: NS-stay}}",
	}
	w.earlier(texts, map[string][]string{app: {db}}, base, stay, db, app)

	e := w.scoped(texts, nil, model.Component{Name: stay})
	mustSync(t, ctx, e, stay)
	vanished, err := e.Vanished(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := []rollout.RemovalSpec{
		{Name: base},
		{Name: db, Requires: []string{base}}, // its namespace; no more is known
		{Name: app, Requires: []string{base, db}, EdgesKnown: true},
	}
	if diff := cmp.Diff(want, vanished); diff != "" {
		t.Fatalf("vanished (-want +got):\n%s", diff)
	}

	// Too early: it would take the others along.
	var object *executor.ObjectError
	if _, err := e.Remove(ctx, base); !errors.As(err, &object) || object.Final || !strings.Contains(object.Message, app) {
		t.Errorf("removing the namespace of others that go: %v", err)
	}

	seen := w.watch(e)
	interrupted, interrupt := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := e.Remove(interrupted, app)
		ended <- err
	}()
	seen.until(t, ctx, "what holds it up", func(all map[string]executor.Observation) bool {
		o := all[app]
		return o.Health == rollout.Progressing && o.Object.Name == "last" && strings.Contains(o.Message, "example.com/hold")
	})
	if !w.stands("first") {
		t.Error("wave 0 is deleted before wave 1 is gone")
	}
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if !w.stands("first") || !w.inventoryThere(app) {
		t.Error("an interrupted deletion went on, or is forgotten")
	}

	again := w.scoped(texts, nil, model.Component{Name: stay})
	go func() {
		_, err := again.Remove(ctx, app)
		ended <- err
	}()
	w.release("last")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{db, base, app} { // the last one once more
		if left, err := again.Remove(ctx, name); err != nil || len(left) > 0 {
			t.Fatalf("remove %s: left %v, %v", name, left, err)
		}
		if w.inventoryThere(name) {
			t.Errorf("the inventory of %s is still there", name)
		}
	}
	if w.live(namespaces, w.ns) != nil {
		t.Error("the namespace is still there")
	}
	if ns := w.live(namespaces, w.ns+"-stay"); ns == nil || ns.GetDeletionTimestamp() != nil {
		t.Error("what stays was deleted")
	}
	if vanished, err := again.Vanished(ctx); err != nil || len(vanished) > 0 {
		t.Errorf("after all that is left to remove: %v, %v", vanished, err)
	}
	if _, err := again.Remove(ctx, stay); err == nil {
		t.Error("a component of the rollout can be removed")
	}
}

// A Namespace or CRD that a component needs which stays keeps its own component
// whole.
func TestClusterRemoveRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		owner, stays string
		holder, held string
	}{
		"namespace": {
			"{apiVersion: v1, kind: Namespace, metadata: {name: NS}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}", "Namespace", "ConfigMap",
		},
		"crd": {
			ownNamespace + "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: mine}}\n---\n" + strings.Split(crdAndResource, "\n---\n")[0],
			"apiVersion: NS.example.com/v1\nkind: Thing\nmetadata: {name: theirs}\nspec: {size: 1}", "CustomResourceDefinition", "Thing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx := w.context()
			owner, stay := "owner-"+w.ns, "stay-"+w.ns
			texts := map[string]string{owner: tc.owner, stay: tc.stays}
			w.earlier(texts, nil, owner, stay)
			e := w.scoped(texts, nil, model.Component{Name: stay})
			_, err := e.Remove(ctx, owner)
			var object *executor.ObjectError
			if !errors.As(err, &object) || !object.Final || object.Object.Kind != tc.holder {
				t.Fatalf("error = %v, want a final one about a %s", err, tc.holder)
			}
			if !strings.Contains(object.Message, stay) || !strings.Contains(object.Message, tc.held) {
				t.Errorf("the message does not name what would be lost: %s", object.Message)
			}
			if !w.stands("mine") || !w.inventoryThere(owner) {
				t.Error("something was deleted")
			}
			if ns := w.live(namespaces, w.ns); ns.GetDeletionTimestamp() != nil {
				t.Error("the namespace is being deleted")
			}
		})
	}
}

// What asks to be kept is kept, with its namespace; what another component has
// taken over is no longer there to be removed.
func TestClusterRemoveKeeps(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	owner, renamed := "owner-"+w.ns, "renamed-"+w.ns
	texts := map[string]string{
		owner: ownNamespace + `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: moved}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {argocd.argoproj.io/sync-options: "Delete=false"}}}`,
		renamed: "{apiVersion: v1, kind: ConfigMap, metadata: {name: moved}}",
	}
	w.earlier(texts, nil, owner)
	e := w.scoped(texts, nil, model.Component{Name: renamed})
	mustSync(t, ctx, e, renamed)
	left, err := e.Remove(ctx, owner)
	if err != nil {
		t.Fatal(err)
	}
	want := []finding.Resource{{Kind: "ConfigMap", Namespace: w.ns, Name: "kept"}, {Kind: "Namespace", Name: w.ns}}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if !w.stands("kept") || !w.stands("moved") || w.live(configMaps, "plain") != nil {
		t.Error("kept or moved is gone, or plain is not")
	}
}

// Components of other platforms are not this one's to remove, nor is what those of
// the same name have applied this one's to prune.
func TestClusterRemoveStaysInItsScope(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	other := "other-" + w.ns
	w.earlier(map[string]string{other: ownNamespace}, nil, other)
	e := w.scoped(map[string]string{other: ownNamespace}, nil)
	e.config.Scope = "another platform"
	if vanished, err := e.Vanished(ctx); err != nil || len(vanished) > 0 {
		t.Errorf("vanished = %v, %v", vanished, err)
	}
	if left, err := e.Remove(ctx, other); err != nil || len(left) > 0 || w.live(namespaces, w.ns) == nil {
		t.Errorf("it was removed: %v, %v", left, err)
	}

	same := w.scoped(map[string]string{other: "{apiVersion: v1, kind: ConfigMap, metadata: {name: third}}"}, nil, model.Component{Name: other})
	same.config.Scope = "another platform"
	mustSync(t, ctx, same, other)
	if w.live(namespaces, w.ns) == nil || w.live(configMaps, "third") == nil {
		t.Error("the component of the same name of another platform was pruned")
	}
	if !w.inventoryThere(other) {
		t.Error("what the other platform has is forgotten")
	}
	w.earlier(map[string]string{other: ownNamespace}, nil, other)
	if w.live(configMaps, "third") == nil {
		t.Error("the component of the same name of another platform was pruned")
	}
}
