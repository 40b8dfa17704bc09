package native

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	model "github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/drive"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/rollout"
)

// The tests of this file run on an API server with its controllers and without
// anything that runs pods: a plane with an empty world, or the one that
// LADDER_TEST_KUBECONFIG names.

const patience = 60 * time.Second

// sharedPlane is started once for all tests of the package.
var sharedPlane struct {
	once  sync.Once
	plane *plane.Plane
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if sharedPlane.plane != nil {
		_ = sharedPlane.plane.Stop(context.Background())
	}
	os.Exit(code)
}

func testConfig(t *testing.T) *rest.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	if path := os.Getenv("LADDER_TEST_KUBECONFIG"); path != "" {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	binary := planetest.Binary(t)
	sharedPlane.once.Do(func() {
		// The plane ends with this process at the latest, so its context is not
		// that of the first test.
		sharedPlane.plane, sharedPlane.err = plane.Start(context.Background(), plane.Options{
			Executable: binary, World: []string{plane.EmptyWorld}, Timeout: 2 * patience,
		})
	})
	if sharedPlane.err != nil {
		t.Fatal(sharedPlane.err)
	}
	config, err := sharedPlane.plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// world is one test on the API server, in namespaces of its own.
type world struct {
	t      *testing.T
	config *rest.Config
	client dynamic.Interface
	ns     string
}

func newWorld(t *testing.T) *world {
	config := testConfig(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	return &world{t: t, config: config, client: client, ns: name + "-" + strings.ToLower(time.Now().Format("150405.000"))[7:]}
}

// objects parses documents in which NS stands for the namespace of the test.
func (w *world) objects(text string) []manifest.Object {
	w.t.Helper()
	var out []manifest.Object
	for _, doc := range strings.Split(strings.ReplaceAll(text, "NS", w.ns), "\n---\n") {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			w.t.Fatal(err)
		}
		if len(u.Object) > 0 {
			out = append(out, manifest.Object{Unstructured: &u})
		}
	}
	return out
}

func (w *world) engine(revision string, texts map[string]string, components ...model.Component) *Engine {
	w.t.Helper()
	config := Config{RESTConfig: w.config, Components: components, Objects: map[string][]manifest.Object{}, Revision: revision, SmokeInterval: 100 * time.Millisecond}
	for i := range components {
		if components[i].Namespace == "" {
			components[i].Namespace = w.ns
		}
		config.Objects[components[i].Name] = w.objects(texts[components[i].Name])
	}
	e, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(e.Close)
	return e
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

var (
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	jobs       = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

// runPods gives every pod of the namespace the status that decide returns,
// until the test ends.
func (w *world) runPods(decide func(name string) string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		given := map[string]string{}
		for ctx.Err() == nil {
			list, err := w.client.Resource(pods).Namespace(w.ns).List(ctx, metav1.ListOptions{})
			if err == nil {
				for _, p := range list.Items {
					status := decide(p.GetName())
					if status == "" || given[string(p.GetUID())] == status {
						continue
					}
					if _, err := w.client.Resource(pods).Namespace(w.ns).Patch(ctx, p.GetName(), types.MergePatchType,
						[]byte(`{"status":`+status+`}`), metav1.PatchOptions{}, "status"); err == nil {
						given[string(p.GetUID())] = status
					}
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	w.t.Cleanup(func() { cancel(); <-done })
}

const (
	podReady     = `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
	podSucceeded = `{"phase":"Succeeded"}`
	podFailed    = `{"phase":"Failed","message":"schema version is too old"}`
	podNoSecret  = `{"phase":"Pending","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"main","image":"i","imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"CreateContainerConfigError","message":"secret \"vault-keys\" not found"}}}]}`
)

// observations records what an engine reports.
type observations struct {
	mu   sync.Mutex
	last map[string]drive.Observation
	more chan struct{}
}

func (w *world) watch(e *Engine) *observations {
	o := &observations{last: map[string]drive.Observation{}, more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- e.Watch(ctx, func(seen drive.Observation) {
			w.t.Logf("%s %s %q %s", seen.Component, seen.Health, seen.Revision, seen.Message)
			o.mu.Lock()
			o.last[seen.Component] = seen
			o.mu.Unlock()
			select {
			case o.more <- struct{}{}:
			default:
			}
		})
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("watch: %v", err)
		}
	})
	return o
}

// until waits for an observation.
func (o *observations) until(t *testing.T, ctx context.Context, what string, want func(map[string]drive.Observation) bool) {
	t.Helper()
	for {
		o.mu.Lock()
		ok := want(o.last)
		o.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-o.more:
		case <-ctx.Done():
			t.Fatalf("never seen: %s; last: %+v", what, o.last)
		}
	}
}

func healthyAt(name, revision string) func(map[string]drive.Observation) bool {
	return func(all map[string]drive.Observation) bool {
		return all[name].Health == rollout.Healthy && all[name].Revision == revision
	}
}

func mustSync(t *testing.T, ctx context.Context, e *Engine, name string) {
	t.Helper()
	if err := e.Sync(ctx, name); err != nil {
		t.Fatalf("sync %s: %v", name, err)
	}
}

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
	seen.until(t, ctx, "nothing is applied", func(all map[string]drive.Observation) bool {
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
	seen.until(t, ctx, "missing", func(all map[string]drive.Observation) bool {
		return all[name].Health == rollout.Missing && strings.Contains(all[name].Message, "ConfigMap settings does not exist")
	})
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
			var object *drive.ObjectError
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
	seen.until(t, ctx, "the reason of the pod", func(all map[string]drive.Observation) bool {
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
	seen.until(t, first, "the hook runs", func(all map[string]drive.Observation) bool {
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
		if pause(ctx, again.config.Clock, 50*time.Millisecond) != nil {
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
	seen.until(t, ctx, "the failing check", func(all map[string]drive.Observation) bool {
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
