package engine

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/executor"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// A component that drops a Namespace or CRD does not take the objects of other
// components along: nothing is pruned until those are gone.
func TestClusterPruneRefuses(t *testing.T) {
	const rest = "{apiVersion: v1, kind: Namespace, metadata: {name: NS-own}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: stays, namespace: NS-own}}"
	const dropped = "\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: dropped, namespace: NS-own}}\n---\n"
	crd, thing, _ := strings.Cut(crdAndResource, "\n---\n")
	thing, _, _ = strings.Cut(thing, "\n---\n")
	inNamespace := "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, namespace: NS}}"
	for name, tc := range map[string]struct {
		holder, held         string
		holderKind, heldName string
		vanished             bool // the other component is on its way out
	}{
		"namespace":                {holder: ownNamespace, held: inNamespace, holderKind: "Namespace", heldName: "ConfigMap"},
		"namespace of what leaves": {holder: ownNamespace, held: inNamespace, holderKind: "Namespace", heldName: "ConfigMap", vanished: true},
		"crd":                      {holder: crd, held: thing, holderKind: "CustomResourceDefinition", heldName: "Thing one"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx := w.context()
			owner, other := "owner-"+w.ns, "other-"+w.ns
			w.earlier(map[string]string{owner: rest + dropped + tc.holder, other: tc.held}, nil, owner, other)

			components := []model.Component{{Name: owner}}
			if !tc.vanished {
				components = append(components, model.Component{Name: other})
			}
			e := w.scoped(map[string]string{owner: rest, other: tc.held}, nil, components...)
			err := e.Sync(ctx, owner)
			var object *executor.ObjectError
			if !errors.As(err, &object) || !object.Final || object.Object.Kind != tc.holderKind {
				t.Fatalf("error = %v, want a final one about a %s", err, tc.holderKind)
			}
			if !strings.Contains(object.Message, other+" ("+tc.heldName) {
				t.Errorf("the message does not name what would be lost: %s", object.Message)
			}
			holders, holder := w.client.Resource(definitions), "things."+w.ns+".example.com"
			if tc.holderKind == "Namespace" {
				holders, holder = w.client.Resource(namespaces), w.ns
			}
			if live, err := holders.Get(ctx, holder, metav1.GetOptions{}); err != nil || live.GetDeletionTimestamp() != nil {
				t.Errorf("the %s is deleted: %v", tc.holderKind, err)
			}
			inOwn := w.client.Resource(configMaps).Namespace(w.ns + "-own")
			if live, err := inOwn.Get(ctx, "dropped", metav1.GetOptions{}); err != nil || live.GetDeletionTimestamp() != nil {
				t.Errorf("something else was pruned: %v", err)
			}

			// Somebody deletes what was in the way.
			if tc.holderKind == "Namespace" {
				err = w.client.Resource(configMaps).Namespace(w.ns).Delete(ctx, "theirs", metav1.DeleteOptions{})
			} else {
				err = w.client.Resource(schema.GroupVersionResource{Group: w.ns + ".example.com", Version: "v1", Resource: "things"}).Delete(ctx, "one", metav1.DeleteOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			mustSync(t, ctx, e, owner)
			if live, err := holders.Get(ctx, holder, metav1.GetOptions{}); err == nil {
				t.Errorf("the %s is still there: %v", tc.holderKind, live.GetDeletionTimestamp())
			}
			if _, err := inOwn.Get(ctx, "dropped", metav1.GetOptions{}); err == nil {
				t.Error("the rest was not pruned")
			}
			if _, err := inOwn.Get(ctx, "stays", metav1.GetOptions{}); err != nil {
				t.Errorf("what is rendered was pruned: %v", err)
			}
		})
	}
}

// A Namespace that another component takes over, and one in which the component
// itself still has something, are not pruned.
func TestClusterPruneLeavesWhatIsNeeded(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	before, after, self := "before-"+w.ns, "after-"+w.ns, "self-"+w.ns
	own := "{apiVersion: v1, kind: Namespace, metadata: {name: NS-self}}"
	mine := "{apiVersion: v1, kind: ConfigMap, metadata: {name: mine, namespace: NS-self}}"
	moved := "{apiVersion: v1, kind: ConfigMap, metadata: {name: moved}}"
	w.earlier(map[string]string{before: ownNamespace + "\n---\n" + moved, self: own + "\n---\n" + mine}, nil, before, self)
	uid := w.live(namespaces, w.ns).GetUID()

	e := w.scoped(map[string]string{before: "", after: ownNamespace + "\n---\n" + moved, self: mine}, nil,
		model.Component{Name: before}, model.Component{Name: after}, model.Component{Name: self})
	for _, name := range []string{before, after, self, before} {
		mustSync(t, ctx, e, name)
	}
	ns := w.live(namespaces, w.ns)
	if ns == nil || ns.GetUID() != uid || ns.GetDeletionTimestamp() != nil || ns.GetAnnotations()[ComponentAnnotation] != after {
		t.Errorf("the namespace was not taken over: %v", ns)
	}
	if !w.stands("moved") {
		t.Error("what moved is gone")
	}
	if ns := w.live(namespaces, w.ns+"-self"); ns == nil || ns.GetDeletionTimestamp() != nil {
		t.Error("the component lost its own namespace")
	}
}
