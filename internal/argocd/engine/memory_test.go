package engine

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

const (
	commit  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	another = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// memory is an API server that keeps Applications and ApplicationSets, with merge
// patches and conflicts as the real one has them. Controllers are played by the
// tests.
type memory struct {
	t      testing.TB
	client *fake.FakeDynamicClient

	mu      sync.Mutex
	version int64
	// written is told every version of an object, in order; before is asked before
	// a patch is looked at.
	written func(obj *unstructured.Unstructured)
	before  func(patch map[string]any) error
	patches []map[string]any
}

func newMemory(t testing.TB, texts ...string) *memory {
	t.Helper()
	m := &memory{t: t, version: 100}
	var objects []runtime.Object
	for _, text := range texts {
		obj := parseObject(t, text)
		obj.SetResourceVersion("100")
		obj.SetUID(types.UID("uid-of-" + obj.GetName()))
		objects = append(objects, obj)
	}
	m.client = fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		status.Applications(): "ApplicationList", status.ApplicationSets(): "ApplicationSetList", status.Projects(): "AppProjectList", configMaps: "ConfigMapList",
	}, objects...)
	m.client.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch := action.(clienttesting.PatchAction)
		var over map[string]any
		if err := json.Unmarshal(patch.GetPatch(), &over); err != nil {
			return true, nil, err
		}
		m.mu.Lock()
		m.patches = append(m.patches, over)
		before := m.before
		m.mu.Unlock()
		if before != nil {
			if err := before(over); err != nil {
				return true, nil, err
			}
		}
		obj, err := m.apply(patch.GetResource(), patch.GetNamespace(), patch.GetName(), over)
		if err != nil {
			return true, nil, err
		}
		return true, obj, nil
	})
	return m
}

func parseObject(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	var obj unstructured.Unstructured
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = obj.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return &obj
}

// apply merges a patch and tells the watches.
func (m *memory) apply(gvr schema.GroupVersionResource, namespace, name string, over map[string]any) (*unstructured.Unstructured, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, err := m.client.Tracker().Get(gvr, namespace, name)
	if err != nil {
		return nil, err
	}
	obj := found.(*unstructured.Unstructured)
	if want, _, _ := unstructured.NestedString(over, "metadata", "resourceVersion"); want != "" && want != obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(gvr.GroupResource(), name, nil)
	}
	// Through JSON, so that numbers are what the API server makes of them.
	data, err := json.Marshal(mergePatch(obj.Object, over))
	if err != nil {
		return nil, err
	}
	var now unstructured.Unstructured
	if err := now.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	m.version++
	now.SetResourceVersion(strconv.FormatInt(m.version, 10))
	if err := m.client.Tracker().Update(gvr, &now, namespace); err != nil {
		return nil, err
	}
	if m.written != nil {
		m.written(now.DeepCopy())
	}
	return &now, nil
}

// mergePatch is RFC 7386.
func mergePatch(base, over any) any {
	o, patches := over.(map[string]any)
	if !patches {
		return over
	}
	b, _ := base.(map[string]any)
	out := maps.Clone(b)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range o {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = mergePatch(out[k], v)
		}
	}
	return out
}

// set changes an Application as somebody else would.
func (m *memory) set(name, patch string) {
	m.t.Helper()
	var over map[string]any
	if err := yaml.Unmarshal([]byte(patch), &over); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.apply(status.Applications(), "argocd", name, over); err != nil {
		m.t.Fatal(err)
	}
}

func (m *memory) live(name string) *status.Application {
	m.t.Helper()
	obj, err := m.client.Resource(status.Applications()).Namespace("argocd").Get(m.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	a, err := status.Parse(obj)
	if err != nil {
		m.t.Fatal(err)
	}
	return a
}

// until waits for a state of an Application.
func (m *memory) until(name, what string, holds func(*status.Application) bool) {
	m.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds(m.live(name)) {
		if time.Now().After(deadline) {
			m.t.Fatalf("never: %s: %+v", what, m.live(name))
		}
		time.Sleep(time.Millisecond)
	}
}

func (m *memory) engine(run string, names ...string) *Engine {
	m.t.Helper()
	apps := map[string]status.Ref{}
	for _, name := range names {
		apps[name] = status.Ref{Namespace: "argocd", Name: name}
	}
	e, err := New(Config{Client: m.client, Applications: apps, Revision: commit, Run: run})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(e.Close)
	return e
}

// policy is spec.syncPolicy of an Application; false where it has none.
func (m *memory) policy(name string) (map[string]any, bool) {
	obj, err := m.client.Resource(status.Applications()).Namespace("argocd").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	policy, found, err := unstructured.NestedMap(obj.Object, "spec", "syncPolicy")
	if err != nil {
		m.t.Fatal(err)
	}
	return policy, found
}

// controller plays the application controller: it takes up every operation, and
// does what outcome says with it.
func (m *memory) controller(outcome func(a *status.Application) (phase, message string)) {
	work := make(chan *unstructured.Unstructured, 1000)
	m.mu.Lock()
	m.written = func(obj *unstructured.Unstructured) {
		if obj.GetKind() == "Application" {
			work <- obj
		}
	}
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	m.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case obj := <-work:
				m.operate(obj, outcome)
			}
		}
	}()
}

func (m *memory) operate(obj *unstructured.Unstructured, outcome func(a *status.Application) (phase, message string)) {
	a, err := status.Parse(obj)
	if err != nil {
		m.t.Error(err)
		return
	}
	reported := map[string]any{}
	patch := map[string]any{"status": reported}
	switch _, asked := a.Annotations[status.RefreshAnnotation]; {
	case asked:
		patch["metadata"] = map[string]any{"annotations": map[string]any{status.RefreshAnnotation: nil}}
		reported["reconciledAt"] = "2026-01-01T12:00:30Z"
	case a.Status.OperationState.IsTerminating():
		patch["operation"] = nil
		reported["operationState"] = map[string]any{"phase": status.Failed, "message": "Operation terminated", "finishedAt": "2026-01-01T12:00:20Z"}
	case a.Operation != nil && !a.Started():
		operation, _, _ := unstructured.NestedMap(obj.Object, "operation")
		state := map[string]any{"phase": status.Running, "startedAt": "2026-01-01T12:00:10Z", "operation": operation}
		phase, message := outcome(a)
		if phase != status.Running {
			source, _, _ := unstructured.NestedMap(obj.Object, "spec", "source")
			revision, _, _ := unstructured.NestedString(operation, "sync", "revision")
			state["phase"], state["message"], state["finishedAt"] = phase, message, "2026-01-01T12:00:20Z"
			state["syncResult"] = map[string]any{"revision": revision, "source": source}
			patch["operation"] = nil
			reported["reconciledAt"] = "2026-01-01T12:00:21Z"
			reported["sync"] = map[string]any{"status": status.Synced, "revision": revision}
			reported["health"] = map[string]any{"status": "Healthy"}
		}
		reported["operationState"] = state
	default:
		return
	}
	if _, err := m.apply(status.Applications(), "argocd", a.Ref.Name, patch); err != nil && !apierrors.IsNotFound(err) {
		m.t.Error(err)
	}
}

func succeed(*status.Application) (string, string) { return status.Succeeded, "" }

// idle is an Application at another revision, on which nothing operates.
func idle(name, policy string) string {
	return `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: ` + name + `, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  source: {repoURL: https://git.example.com/platform.git, path: shop, targetRevision: main}
  syncPolicy: {` + policy + `}
status:
  health: {status: Healthy}
  reconciledAt: "2026-01-01T12:00:00Z"
  sync:
    status: OutOfSync
    revision: ` + another + `
    comparedTo:
      source: {repoURL: https://git.example.com/platform.git, path: shop, targetRevision: main}
      destination: {server: https://kubernetes.default.svc, namespace: shop}
`
}
