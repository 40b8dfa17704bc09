package engine

import (
	"context"
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
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/confine/confinetest"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// The tests of clusters run on an API server with its controllers and without
// anything that runs pods: a plane with an empty world, or the one that
// LADDER_TEST_KUBECONFIG names.

const patience = 4 * time.Minute

// sharedPlane is started once for all tests of the package.
var sharedPlane struct {
	once  sync.Once
	plane *plane.Plane
	err   error
}

func TestMain(m *testing.M) {
	confinetest.Use()
	planetest.SideBySide(8)
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

// world is one test on the API server, in namespaces of its own, beside the others.
type world struct {
	t      *testing.T
	config *rest.Config
	client dynamic.Interface
	ns     string
	// clock is the source of time of the engines; nil means the system's.
	clock clock.Clock
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config := testConfig(t)
	t.Parallel()
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
	config := Config{RESTConfig: w.config, Components: components, Objects: map[string][]manifest.Object{}, Revision: revision, SmokeInterval: 100 * time.Millisecond, Clock: w.clock}
	for i := range components {
		if components[i].Namespace == "" {
			components[i].Namespace = w.ns
		}
		config.Objects[components[i].Name] = w.objects(texts[components[i].Name])
	}
	e, err := New(w.t.Context(), config)
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
	last map[string]executor.Observation
	more chan struct{}
}

func (w *world) watch(e *Engine) *observations {
	o := &observations{last: map[string]executor.Observation{}, more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- e.Watch(ctx, func(seen executor.Observation) {
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
func (o *observations) until(t *testing.T, ctx context.Context, what string, want func(map[string]executor.Observation) bool) {
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

func healthyAt(name, revision string) func(map[string]executor.Observation) bool {
	return func(all map[string]executor.Observation) bool {
		return all[name].Health == rollout.Healthy && all[name].Revision == revision
	}
}

func mustSync(t *testing.T, ctx context.Context, e *Engine, name string) {
	t.Helper()
	if err := e.Sync(ctx, name); err != nil {
		t.Fatalf("sync %s: %v", name, err)
	}
}
