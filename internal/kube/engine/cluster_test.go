package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

const crdAndResource = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NS.example.com}
spec:
  group: NS.example.com
  scope: Cluster
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: NS.example.com/v1
kind: Thing
metadata: {name: one}
spec: {size: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
`

func TestClusterCRDWithItsResource(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "things-" + w.ns
	e := w.engine("r1", map[string]string{name: crdAndResource}, model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}})
	seen := w.watch(e)
	seen.until(t, ctx, "nothing is applied", func(all map[string]executor.Observation) bool {
		return all[name].Health == rollout.Missing && all[name].Revision == ""
	})
	mustSync(t, ctx, e, name)
	seen.until(t, ctx, "healthy", healthyAt(name, "r1"))
	cm, err := w.client.Resource(configMaps).Namespace(w.ns).Get(ctx, "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a := cm.GetAnnotations(); a[ComponentAnnotation] != name || a[RevisionAnnotation] != "r1" {
		t.Errorf("marks = %v", a)
	}

	// A new engine, as after a crash, finds it Healthy at the revision at once.
	again := w.engine("r1", map[string]string{name: crdAndResource}, model.Component{Name: name})
	w.watch(again).until(t, ctx, "healthy after a restart", healthyAt(name, "r1"))

	if err := w.client.Resource(configMaps).Namespace(w.ns).Delete(ctx, "settings", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	seen.until(t, ctx, "missing", func(all map[string]executor.Observation) bool {
		return all[name].Health == rollout.Missing && strings.Contains(all[name].Message, "ConfigMap settings does not exist")
	})
}

// Components that share a namespace give it their own labels and annotations each,
// also where it is there already.
func TestClusterNamespaceMetadata(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	a, b := "a-"+w.ns, "b-"+w.ns
	text := map[string]string{a: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", b: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}
	into := []string{"CreateNamespace=true"}
	first := model.Component{Name: a, SyncOptions: into, NamespaceLabels: map[string]string{"a": "1", "gone": "1"}, NamespaceAnnotations: map[string]string{"note": "a"}}
	second := model.Component{Name: b, SyncOptions: into, NamespaceLabels: map[string]string{"b": "1"}}
	e := w.engine("r1", text, first, second)
	mustSync(t, ctx, e, a)
	mustSync(t, ctx, e, b)
	first.NamespaceLabels = map[string]string{"a": "2"}
	mustSync(t, ctx, w.engine("r2", text, first, second), a)
	ns, err := w.client.Resource(namespaces).Get(ctx, w.ns, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := ns.GetLabels()
	delete(got, "kubernetes.io/metadata.name")
	if diff := cmp.Diff(map[string]string{"a": "2", "b": "1"}, got); diff != "" || ns.GetAnnotations()["note"] != "a" {
		t.Errorf("labels (-want +got):\n%s\nannotations %v", diff, ns.GetAnnotations())
	}
}

func TestClusterErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		options []string
		want    string
	}{
		"missing kind": {"apiVersion: nowhere.example.com/v1\nkind: Widget\nmetadata: {name: w}",
			[]string{"CreateNamespace=true"}, "no matches for kind Widget in version nowhere.example.com/v1: its CRD is not installed"},
		"missing namespace": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w}", nil, "namespace NS does not exist"},
		"invalid": {"apiVersion: v1\nkind: Service\nmetadata: {name: w}\nspec: {ports: [{port: 99999}]}",
			[]string{"CreateNamespace=true"}, "must be between 1 and 65535"},
		"unknown field": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w}\ndatta: {}",
			[]string{"CreateNamespace=true"}, "field not declared in schema"},
		"secret": {"apiVersion: v1\nkind: Secret\nmetadata: {name: w}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: hunter2-not-json}",
			[]string{"CreateNamespace=true"}, "is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ns = strings.ReplaceAll(w.ns, " ", "-")
			component := "c-" + w.ns
			e := w.engine("r1", map[string]string{component: tc.text}, model.Component{Name: component, SyncOptions: tc.options})
			err := e.Sync(w.context(), component)
			var object *executor.ObjectError
			if !errors.As(err, &object) {
				t.Fatalf("error = %v, want an ObjectError", err)
			}
			if want := strings.ReplaceAll(tc.want, "NS", w.ns); !strings.Contains(object.Message, want) {
				t.Errorf("message = %q, want %q in it", object.Message, want)
			}
			if object.Object.Name != "w" {
				t.Errorf("object = %v", object.Object)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

const hooked = `
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {argocd.argoproj.io/hook: PreSync}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: first, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: vault}
spec:
  serviceName: vault
  selector: {matchLabels: {app: vault}}
  template:
    metadata: {labels: {app: vault}}
    spec: {containers: [{name: main, image: v}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last, annotations: {argocd.argoproj.io/sync-wave: "1"}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: notify
  annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: hook-succeeded}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}
`

func TestClusterHooksWavesAndReasons(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "vault-" + w.ns
	var mu sync.Mutex
	vault := podNoSecret
	w.runPods(func(pod string) string {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(pod, "vault-") {
			return vault
		}
		return podSucceeded
	})
	e := w.engine("r1", map[string]string{name: hooked}, model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}})
	seen := w.watch(e)
	synced := make(chan error, 1)
	go func() { synced <- e.Sync(ctx, name) }()
	seen.until(t, ctx, "the reason of the pod", func(all map[string]executor.Observation) bool {
		return strings.Contains(all[name].Message,
			`StatefulSet vault: 0 of 1 ready; pod vault-0: CreateContainerConfigError: secret "vault-keys" not found`)
	})
	if _, err := w.client.Resource(configMaps).Namespace(w.ns).Get(ctx, "last", metav1.GetOptions{}); err == nil {
		t.Error("wave 1 was applied before wave 0 was healthy")
	}
	mu.Lock()
	vault = podReady
	mu.Unlock()
	if err := <-synced; err != nil {
		t.Fatal(err)
	}
	seen.until(t, ctx, "healthy", healthyAt(name, "r1"))
	list, err := w.client.Resource(jobs).Namespace(w.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, j := range list.Items {
		left = append(left, j.GetName())
	}
	if strings.Join(left, ",") != "migrate" {
		t.Errorf("jobs left = %v, want migrate only: notify is deleted after it succeeded", left)
	}
}

func TestClusterFailedHook(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "vault-" + w.ns
	w.runPods(func(string) string { return podFailed })
	e := w.engine("r1", map[string]string{name: hooked}, model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}})
	w.watch(e)
	err := e.Sync(ctx, name)
	if err == nil || !strings.Contains(err.Error(), "PreSync hook failed") || !strings.Contains(err.Error(), "Job") {
		t.Fatalf("error = %v", err)
	}
	if _, err := w.client.Resource(configMaps).Namespace(w.ns).Get(ctx, "first", metav1.GetOptions{}); err == nil {
		t.Error("objects were applied after a PreSync hook failed")
	}
}

func TestClusterPrune(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "app-" + w.ns
	m := model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}}
	two := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, annotations: {argocd.argoproj.io/sync-options: Prune=false}}"
	mustSync(t, ctx, w.engine("r1", map[string]string{name: two}, m), name)
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"
	e := w.engine("r2", map[string]string{name: one}, m)
	mustSync(t, ctx, e, name)
	get := func(n string) error {
		_, err := w.client.Resource(configMaps).Namespace(w.ns).Get(ctx, n, metav1.GetOptions{})
		return err
	}
	if get("a") != nil || get("b") == nil || get("kept") != nil {
		t.Errorf("a: %v, b: %v, kept: %v", get("a"), get("b"), get("kept"))
	}
	w.watch(e).until(t, ctx, "healthy", healthyAt(name, "r2"))
}

func TestClusterInterruptedHookIsAdopted(t *testing.T) {
	w := newWorld(t)
	name := "app-" + w.ns
	m := model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}}
	var mu sync.Mutex
	status := ""
	w.runPods(func(string) string { mu.Lock(); defer mu.Unlock(); return status })
	text := map[string]string{name: hooked}
	e := w.engine("r1", text, m)
	seen := w.watch(e)
	first, cancel := context.WithCancel(w.context())
	synced := make(chan error, 1)
	go func() { err := e.Sync(first, name); t.Log("first sync:", err); synced <- err }()
	seen.until(t, first, "the hook runs", func(all map[string]executor.Observation) bool {
		return strings.Contains(all[name].Message, "PreSync hook Job migrate")
	})
	cancel()
	if err := <-synced; !errors.Is(err, context.Canceled) {
		t.Fatalf("error = %v", err)
	}
	ctx := w.context()
	before, err := w.client.Resource(jobs).Namespace(w.ns).Get(ctx, "migrate", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	again := w.engine("r1", text, m)
	go func() { synced <- again.Sync(ctx, name) }()
	mu.Lock()
	status = `{"phase":"Succeeded","conditions":[{"type":"Ready","status":"True"}]}`
	mu.Unlock()
	// The StatefulSet's pod succeeds too, which is enough to get past PreSync.
	for {
		if _, err := w.client.Resource(configMaps).Namespace(w.ns).Get(ctx, "first", metav1.GetOptions{}); err == nil {
			break
		}
		if Pause(ctx, again.config.Clock, 50*time.Millisecond) != nil {
			t.Fatal("never got past PreSync")
		}
	}
	after, err := w.client.Resource(jobs).Namespace(w.ns).Get(ctx, "migrate", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if before.GetUID() != after.GetUID() {
		t.Error("the hook was run twice")
	}
}

func TestClusterSmoke(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "app-" + w.ns
	e := w.engine("r1", map[string]string{name: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}"}, model.Component{
		Name: name, SyncOptions: []string{"CreateNamespace=true"},
		Smoke: []model.Check{{Kind: model.CheckSecret, Namespace: w.ns, Name: "token", Keys: []string{"k"}}},
	})
	seen := w.watch(e)
	mustSync(t, ctx, e, name)
	seen.until(t, ctx, "the failing check", func(all map[string]executor.Observation) bool {
		return strings.Contains(all[name].Message, "token does not exist")
	})
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "token"}, "stringData": map[string]any{"k": "v"},
	}}
	if _, err := w.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(w.ns).
		Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen.until(t, ctx, "healthy", healthyAt(name, "r1"))
}
