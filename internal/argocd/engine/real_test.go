package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/plane"
	realargo "github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// The tests of this file run against the real controllers of Argo CD on a plane.
// LADDER_ARGOCD names their binary, else it is bin/ladder-argocd; where there is
// none they are skipped, unless LADDER_ARGOCD is set.

const patience = 8 * time.Minute

// shared is started once for all tests of the package.
var shared struct {
	once  sync.Once
	plane *plane.Plane
	argo  *realargo.Argo
	dir   string
	err   error
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(driveAsChild())
	}
	if _, err := argoPath(); err != nil {
		os.Exit(m.Run())
	}
	os.Exit(planetest.InTurn(func() int {
		defer stopShared()
		return m.Run()
	}))
}

func stopShared() {
	if shared.argo != nil {
		shared.argo.Stop()
	}
	if shared.plane != nil {
		_ = shared.plane.Stop(context.Background())
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
}

func argoPath() (string, error) {
	if named := os.Getenv("LADDER_ARGOCD"); named != "" {
		return realargo.Find(named)
	}
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "bin", realargo.BinaryName))
	if err == nil {
		_, err = os.Stat(path)
	}
	return path, err
}

func argoBinary(t *testing.T) string {
	t.Helper()
	path, err := argoPath()
	switch {
	case err == nil:
	case os.Getenv("LADDER_ARGOCD") != "":
		t.Fatal(err)
	default:
		t.Skip("needs the controllers of Argo CD: run \"make argocd\"")
	}
	return path
}

// realArgo gives the access to a plane on which Argo CD runs.
func realArgo(t *testing.T) *rest.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	executable, binary := argoBinary(t), planetest.Binary(t)
	shared.once.Do(func() { shared.err = startShared(executable, binary) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	config, err := shared.plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func startShared(executable, binary string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if shared.dir, err = os.MkdirTemp("", "ladder-drive"); err != nil {
		return err
	}
	if shared.plane, err = plane.Start(ctx, plane.Options{Executable: binary, Timeout: patience}); err != nil {
		return err
	}
	config, err := shared.plane.RESTConfig()
	if err != nil {
		return err
	}
	installer, err := realargo.NewInstaller(config)
	if err != nil {
		return err
	}
	if err := installer.Install(ctx, executable, status.DefaultNamespace); err != nil {
		return err
	}
	repositories := filepath.Join(shared.dir, "repos")
	if err := os.MkdirAll(repositories, 0o700); err != nil {
		return err
	}
	shared.argo, err = realargo.Start(ctx, realargo.Options{
		Executable: executable, Kubeconfig: shared.plane.Kubeconfig, Dir: filepath.Join(shared.dir, "argocd"), Repositories: repositories, Reconcile: 20 * time.Second,
	})
	return err
}

// fixture is one test: a repository and Applications of its own.
type fixture struct {
	t      *testing.T
	config *rest.Config
	client dynamic.Interface
	name   string
	work   string // work tree
	bare   string // what Argo CD reads
	apps   map[string]status.Ref
}

// newFixture starts a fixture. Side by side they end no sooner: the controllers of Argo CD,
// which they share, are what takes the time.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	config := realArgo(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &fixture{t: t, config: config, client: client, apps: map[string]status.Ref{}, work: filepath.Join(t.TempDir(), "work"), bare: filepath.Join(shared.dir, "repos", t.Name()+".git")}
	s.name = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(t.Name(), "TestReal"), "/", "-"))
	s.git("init", "-q", "-b", "main", s.work)
	s.git("init", "-q", "--bare", "-b", "main", s.bare)
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": s.name}}}
	if _, err := client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.clear)
	return s
}

var (
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	jobs       = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

// clear deletes the Applications, so that their controller has nothing to do in
// the next test.
func (s *fixture) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, ref := range s.apps {
		_ = s.applications().Delete(ctx, ref.Name, metav1.DeleteOptions{})
	}
}

func (s *fixture) applications() dynamic.ResourceInterface {
	return s.client.Resource(status.Applications()).Namespace(status.DefaultNamespace)
}

func (s *fixture) git(args ...string) string {
	s.t.Helper()
	command := exec.Command("git", args...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files and commits them; push shows them to Argo CD.
func (s *fixture) commit(files map[string]string) string {
	s.t.Helper()
	for name, text := range files {
		path := filepath.Join(s.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.git("-C", s.work, "add", "-A")
	s.git("-C", s.work, "commit", "-q", "-m", "change")
	return s.git("-C", s.work, "rev-parse", "HEAD")
}

// push shows Argo CD what is committed, and tells it so, as a webhook of the Git server
// does: a look at all Applications every two seconds took a fifth of the CPU time of
// these tests, and more on a busy machine.
func (s *fixture) push() {
	s.t.Helper()
	s.pushUntold()
	for _, ref := range s.apps {
		_, err := s.applications().Patch(s.t.Context(), ref.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"argocd.argoproj.io/refresh":"normal"}}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // a set may not have made it yet
			s.t.Fatal(err)
		}
	}
}

// pushUntold has Argo CD find what is committed at its next look.
func (s *fixture) pushUntold() { s.t.Helper(); s.git("-C", s.work, "push", "-q", s.bare, "HEAD:main") }

// settings is a ConfigMap that says which version it is.
func settings(name, version string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {version: %q}\n", name, version)
}

// workload is a Deployment that becomes ready after a while.
func workload(name, version string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {version: %[2]q}}
    spec: {containers: [{name: main, image: example.com/app}]}
`, name, version)
}

// release is the files of components at one version.
func release(version string, names ...string) map[string]string {
	files := map[string]string{}
	for _, name := range names {
		files["apps/"+name+"/settings.yaml"] = settings(name, version)
		files["apps/"+name+"/workload.yaml"] = workload(name, version)
	}
	return files
}

const healing = "automated: {prune: true, selfHeal: true}"

// application makes an Application of a folder.
func (s *fixture) application(component, syncPolicy string) status.Ref {
	s.t.Helper()
	ref := status.Ref{Namespace: status.DefaultNamespace, Name: s.name + "-" + component}
	text := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: %s}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: %s}
  source: {repoURL: "file://%s", path: apps/%s, targetRevision: main}
  syncPolicy: {%s}
`, ref.Name, ref.Namespace, s.name, s.bare, component, syncPolicy)
	var obj unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.applications().Create(s.t.Context(), &obj, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.apps[component] = ref
	return ref
}

func (s *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	return ctx
}

func (s *fixture) engine(revision, run string) *Engine {
	s.t.Helper()
	e, err := New(Config{REST: s.config, Applications: s.apps, Revision: revision, Run: run})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(e.Close)
	return e
}

// spec is a rollout of the components with their requirements.
func (s *fixture) spec(revision string, policy rollout.Policy, order []string, requires map[string][]string) rollout.Spec {
	spec := rollout.Spec{Revision: revision, Policy: policy, OnFailure: rollout.Halt, Timeout: patience}
	for i, name := range order {
		if policy == rollout.Phases || i == 0 {
			spec.Steps = append(spec.Steps, rollout.StepSpec{Label: fmt.Sprintf("%03d", 100+10*i)})
		}
		spec.Components = append(spec.Components, rollout.ComponentSpec{
			Name: name, Step: len(spec.Steps) - 1, Requires: requires[name], Timeout: time.Minute, Retry: rollout.RetrySpec{Limit: 3, Duration: time.Second},
		})
	}
	return spec
}

// live reads an Application.
func (s *fixture) live(component string) *status.Application {
	s.t.Helper()
	obj, err := s.applications().Get(s.t.Context(), s.apps[component].Name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := status.Parse(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// until waits for a condition on the cluster.
func (s *fixture) until(what string, holds func() bool) {
	s.t.Helper()
	ctx := s.context()
	for !holds() {
		select {
		case <-ctx.Done():
			for name := range s.apps {
				text, _ := json.Marshal(s.live(name))
				s.t.Logf("%s: %s", name, text)
			}
			s.t.Fatalf("never: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// version is what the ConfigMap of a component says; empty where there is none.
func (s *fixture) version(component string) string {
	s.t.Helper()
	obj, err := s.client.Resource(configMaps).Namespace(s.name).Get(s.t.Context(), component, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		s.t.Fatal(err)
	}
	version, _, _ := unstructured.NestedString(obj.Object, "data", "version")
	return version
}

func (s *fixture) patch(component, patch string) {
	s.t.Helper()
	if _, err := s.applications().Patch(s.t.Context(), s.apps[component].Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// run drives a rollout to its end.
func (s *fixture) run(e *Engine, spec rollout.Spec) executor.Outcome {
	s.t.Helper()
	outcome, err := executor.Run(s.context(), executor.Config{Spec: spec, Engine: e, Sink: func(n executor.Notice) {
		for _, c := range n.Transitions {
			s.t.Logf("%s %s: %s -> %s %s", c.At.Format("05.000"), c.Component, c.From, c.To, c.Reason)
		}
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	return outcome
}

func (s *fixture) succeeds(e *Engine, spec rollout.Spec) executor.Outcome {
	s.t.Helper()
	outcome := s.run(e, spec)
	if outcome.Result != rollout.Succeeded {
		for _, c := range outcome.State.Components {
			s.t.Logf("%s %s: %s; %v", c.Name, c.Status, c.Message, e.Why(c.Name))
		}
		s.t.Fatalf("result %s: %s", outcome.Result, outcome.State.Message)
	}
	return outcome
}
