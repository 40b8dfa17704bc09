package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

var (
	namespaceResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	crds              = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// make makes an object that is written as YAML.
func (w *world) make(ctx context.Context, gvr schema.GroupVersionResource, namespace, text string) {
	w.t.Helper()
	obj := w.objects(text)[0].Unstructured
	if _, err := w.client.Resource(gvr).Namespace(namespace).Create(ctx, obj, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// free removes the finalizers of an object.
func (w *world) free(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) {
	w.t.Helper()
	if _, err := w.client.Resource(gvr).Namespace(namespace).Patch(ctx, name, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

const heldMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}"

// A namespace that is stuck terminating is waited for, with the reason, and made
// anew: by CreateNamespace, by the component that renders it, and while objects
// go into it.
func TestClusterTerminatingNamespace(t *testing.T) {
	const settings = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"
	for name, tc := range map[string]struct {
		text    string
		options []string
	}{
		"CreateNamespace": {settings, []string{"CreateNamespace=true"}},
		"rendered":        {"{apiVersion: v1, kind: Namespace, metadata: {name: NS}}\n---\n" + settings, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx := w.context()
			w.make(ctx, namespaceResource, "", "{apiVersion: v1, kind: Namespace, metadata: {name: NS}}")
			w.make(ctx, configMaps, w.ns, heldMap)
			if err := w.client.Resource(namespaceResource).Delete(ctx, w.ns, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			component := "c-" + w.ns
			e := w.engine("r1", map[string]string{component: tc.text}, model.Component{Name: component, SyncOptions: tc.options})
			seen := w.watch(e)
			synced := make(chan error, 1)
			go func() { synced <- e.Sync(ctx, component) }()
			seen.until(t, ctx, "what holds the namespace", func(all map[string]executor.Observation) bool {
				o := all[component]
				return o.Health == rollout.Progressing && o.Object.Kind == "Namespace" &&
					strings.Contains(o.Message, "is being deleted") && strings.Contains(o.Message, "example.com/hold")
			})
			w.free(ctx, configMaps, w.ns, "held")
			if err := <-synced; err != nil {
				t.Fatal(err)
			}
			seen.until(t, ctx, "healthy", healthyAt(component, "r1"))
		})
	}
}

// An object that is being deleted when it is applied is made anew.
func TestClusterTerminatingObject(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "app-" + w.ns
	m := model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}}
	mustSync(t, ctx, w.engine("r1", map[string]string{name: heldMap}, m), name)
	client := w.client.Resource(configMaps).Namespace(w.ns)
	before, err := client.Get(ctx, "held", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(ctx, "held", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e := w.engine("r2", map[string]string{name: strings.ReplaceAll(heldMap, ", finalizers: [example.com/hold]", "")}, m)
	seen := w.watch(e)
	synced := make(chan error, 1)
	go func() { synced <- e.Sync(ctx, name) }()
	if err := <-synced; err != nil {
		t.Fatal(err)
	}
	seen.until(t, ctx, "healthy", healthyAt(name, "r2"))
	after, err := client.Get(ctx, "held", metav1.GetOptions{})
	if err != nil || after.GetUID() == before.GetUID() {
		t.Errorf("the object is the one that was deleted: %v", err)
	}
}

// lagging is a server whose discovery does not know one group yet, the first times
// that it is asked.
type lagging struct {
	discovery.DiscoveryInterface
	group string
	lag   int
	asked int
}

func (l *lagging) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	if strings.HasPrefix(groupVersion, l.group+"/") {
		if l.asked++; l.asked <= l.lag {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: l.group}, groupVersion)
		}
	}
	return l.DiscoveryInterface.ServerResourcesForGroupVersion(groupVersion)
}

// A kind is served a moment after its CRD is established: another component that is
// started by then waits for it. It does not wait for a version that the CRD does
// not serve.
func TestClusterLateDiscovery(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	crd, thing, _ := strings.Cut(crdAndResource, "\n---\n")
	thing, _, _ = strings.Cut(thing, "\n---\n")
	brings, uses, wrong := "brings-"+w.ns, "uses-"+w.ns, "wrong-"+w.ns
	e := w.scoped(map[string]string{brings: crd, uses: thing, wrong: strings.ReplaceAll(thing, "example.com/v1", "example.com/v2")}, nil,
		model.Component{Name: brings}, model.Component{Name: uses}, model.Component{Name: wrong})
	server := &lagging{DiscoveryInterface: e.mapper.discovery, group: w.ns + ".example.com", lag: 4}
	e.mapper.discovery = server
	mustSync(t, ctx, e, brings)
	mustSync(t, ctx, e, uses)
	if server.asked <= server.lag {
		t.Errorf("discovery was asked %d times", server.asked)
	}
	asked := server.asked
	err := e.Sync(ctx, wrong)
	var object *executor.ObjectError
	if !errors.As(err, &object) || !strings.Contains(object.Message, "its CRD is not installed") {
		t.Fatalf("error = %v", err)
	}
	if more := server.asked - asked; more > 4 {
		t.Errorf("discovery was asked %d times for a version that is not served", more)
	}
}

// A CRD that appears late fails the sync before it, and not the one after it.
func TestClusterLateCRD(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "app-" + w.ns
	docs := strings.Split(crdAndResource, "---")
	e := w.engine("r1", map[string]string{name: docs[1]}, model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}})
	seen := w.watch(e)
	err := e.Sync(ctx, name)
	var object *executor.ObjectError
	if !errors.As(err, &object) || !strings.Contains(object.Message, "its CRD is not installed") || object.Final {
		t.Fatalf("error = %v", err)
	}
	w.make(ctx, crds, "", docs[0])
	for {
		if err = e.Sync(ctx, name); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	seen.until(t, ctx, "healthy", healthyAt(name, "r1"))
}

// Another manager that owns and rewrites a field does not make the sync fail,
// and loses the field; what is not rendered it keeps.
func TestClusterFieldConflict(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "app-" + w.ns
	m := model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}}
	text := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: ours}}"
	mustSync(t, ctx, w.engine("r1", map[string]string{name: text}, m), name)
	client := w.client.Resource(configMaps).Namespace(w.ns)
	force := true
	if _, err := client.Patch(ctx, "a", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"mode":"theirs","own":"theirs"}}`),
		metav1.PatchOptions{FieldManager: "other", Force: &force}); err != nil {
		t.Fatal(err)
	}
	mustSync(t, ctx, w.engine("r2", map[string]string{name: text}, m), name)
	live, err := client.Get(ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(live.Object, "data")
	if data["mode"] != "ours" || data["own"] != "theirs" {
		t.Errorf("data = %v", data)
	}
}
