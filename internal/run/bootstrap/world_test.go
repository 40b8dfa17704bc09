package bootstrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// The values of the Secrets, which nothing but Secrets may hold.
const (
	canaryToken    = "canary-token-4f1d"
	canaryUser     = "canary-user-77aa"
	canarySeal     = "canary-seal-0b3c"
	canaryRegistry = "canary-registry-e911"
	canaryKeyLine  = "canary-key-line-of-a-private-key-5d2e"
)

const sshKey = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + canaryKeyLine + "\n-----END OPENSSH PRIVATE KEY-----\n"

func environment(name string) (string, bool) {
	v, ok := map[string]string{"BOOT_TOKEN": canaryToken, "BOOT_USER": canaryUser, "BOOT_SEAL": canarySeal}[name]
	return v, ok
}

// world is a plane with a copy of the platform of testdata beside it.
type world struct {
	t      *testing.T
	dir    string
	plane  *plane.Plane
	rest   *rest.Config
	client dynamic.Interface
	// applications are those that Argo CD's part makes, behind their root.
	applications []string

	mu sync.Mutex
	// said is everything that runs have told and reported.
	said bytes.Buffer
}

// newWorld starts a plane, beside those of other tests.
func newWorld(t *testing.T) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	t.Parallel()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform"), applications: ofTestdata()}
	copyPlatform(t, w.dir)
	p, err := plane.Start(t.Context(), plane.Options{Executable: planetest.Binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	w.plane = p
	if w.rest, err = p.RESTConfig(); err != nil {
		t.Fatal(err)
	}
	if w.client, err = dynamic.NewForConfig(w.rest); err != nil {
		t.Fatal(err)
	}
	return w
}

// ofTestdata are the Applications of the platform of testdata, the root first.
func ofTestdata() []string { return []string{"root", "database", "data-smoke", "shop"} }

// copyPlatform makes a platform with the files of its secrets, which testdata
// does not have.
func copyPlatform(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "platform"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "secret", "id_ed25519"), sshKey)
	write(t, filepath.Join(dir, "secret", "registry-password"), canaryRegistry+"\n")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// edit replaces a text in a file of the platform, which must be there.
func (w *world) edit(file, before, after string) {
	w.t.Helper()
	path := filepath.Join(w.dir, file)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), before) {
		w.t.Fatalf("%s has no %q: %v", file, before, err)
	}
	write(w.t, path, strings.Replace(string(text), before, after, 1))
}

func (w *world) options(change func(*bootstrap.Options)) bootstrap.Options {
	w.t.Helper()
	config, err := bootstrap.Read(filepath.Join(w.dir, "bootstrap", "dev.yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	o := bootstrap.Options{
		Config: config, LookupEnv: environment, Load: analysis.Options{NoCache: true},
		Connect: func(context.Context, string, string) (*bootstrap.Access, error) {
			return &bootstrap.Access{REST: w.rest, Name: "the plane", Simulated: true, Version: "v0"}, nil
		},
		Say: func(text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			fmt.Fprintln(&w.said, text)
		},
	}
	if change != nil {
		change(&o)
	}
	return o
}

// run bootstraps, and keeps what was told.
func (w *world) run(ctx context.Context, change func(*bootstrap.Options)) report.Bootstrap {
	w.t.Helper()
	outcome, err := bootstrap.Run(ctx, w.options(change))
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := report.JSON(&w.said, outcome.Report); err != nil {
		w.t.Fatal(err)
	}
	if err := report.BootstrapText(&w.said, outcome.Report, report.Style{}); err != nil {
		w.t.Fatal(err)
	}
	return outcome.Report
}

// states are those of the stages, by name.
func states(b report.Bootstrap) map[string]string {
	out := map[string]string{}
	for _, s := range b.Stages {
		out[s.Name] = s.State
	}
	return out
}

func stage(b report.Bootstrap, name string) report.BootstrapStage {
	for _, s := range b.Stages {
		if s.Name == name {
			return s
		}
	}
	return report.BootstrapStage{}
}

func action(b report.Bootstrap, object string) report.BootstrapObject {
	for _, s := range b.Stages {
		for _, o := range s.Objects {
			if o.Object == object {
				return o
			}
		}
	}
	return report.BootstrapObject{}
}

// The resources that the tests look at.
func core(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func apps(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}
}

func argo(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: resource}
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

func (w *world) get(r schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.client.Resource(r).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("%s %s/%s: %v", r.Resource, namespace, name, err)
	}
	return o
}

// versions are the versions of all objects that a bootstrap applies, and of what
// there is beside them, by kind and name. What the cluster changes by itself is
// left out.
func (w *world) versions() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, r := range []schema.GroupVersionResource{
		core("namespaces"), core("secrets"), core("configmaps"), core("serviceaccounts"), core("services"), definitions(),
		apps("deployments"), apps("statefulsets"), argo("appprojects"),
		{Group: "example.com", Version: "v1", Resource: "widgets"},
	} {
		list, err := w.client.Resource(r).List(w.t.Context(), metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			version := o.GetResourceVersion()
			if r.Group != "" {
				version = fmt.Sprint(o.GetGeneration()) // their status moves
			}
			out[r.Resource+" "+o.GetNamespace()+"/"+o.GetName()] = version
		}
	}
	return out
}

// controller stands in for Argo CD: it makes the Applications of the components
// when the root is there, and says how they are.
type controller struct {
	client dynamic.Interface
	names  []string
	mu     sync.Mutex
	health map[string]string
	stop   context.CancelFunc
	done   chan struct{}
}

func (w *world) startController() *controller {
	ctx, stop := context.WithCancel(context.Background())
	c := &controller{client: w.client, names: w.applications, health: map[string]string{}, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c.reconcile(ctx)
			}
		}
	}()
	w.t.Cleanup(func() {
		stop()
		<-c.done
	})
	return c
}

func (c *controller) set(name, health string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health[name] = health
}

func (c *controller) reconcile(ctx context.Context) {
	applications := c.client.Resource(argo("applications")).Namespace("argocd")
	root, err := applications.Get(ctx, c.names[0], metav1.GetOptions{})
	if err != nil {
		return
	}
	for i, name := range c.names {
		if i > 0 {
			child := root.DeepCopy()
			child.Object = map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name, "namespace": "argocd"}, "spec": root.Object["spec"]}
			_, _ = applications.Create(ctx, child, metav1.CreateOptions{})
		}
		c.mu.Lock()
		health := c.health[name]
		c.mu.Unlock()
		if health == "" {
			health = "Healthy"
		}
		spec, _ := root.Object["spec"].(map[string]any)
		at := time.Now().UTC().Format(time.RFC3339)
		status, err := json.Marshal(map[string]any{"status": map[string]any{
			"reconciledAt": at, "health": map[string]any{"status": health, "message": "as the test says"},
			"sync": map[string]any{"status": "Synced", "revision": "0123456789abcdef0123456789abcdef01234567",
				"comparedTo": map[string]any{"source": spec["source"], "destination": spec["destination"]}},
		}})
		if err != nil {
			return
		}
		_, _ = applications.Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{FieldManager: "argocd-controller"})
	}
	secrets := c.client.Resource(core("secrets")).Namespace("shop")
	_, _ = secrets.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "database-app"}, "data": map[string]any{"password": "b2YtdGhlLXRlc3Q="},
	}}, metav1.CreateOptions{})
}
