package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// patience bounds every wait; only failures take that long.
const patience = 2 * time.Minute

// scenario is an example in a layout.
type scenario struct{ example, environment, layout string }

func (s scenario) String() string { return s.example + "/" + s.environment + "/" + s.layout }

func scenarios() []scenario {
	return []scenario{
		{"ameide", "dev", "single"}, {"ameide", "dev", "tiers"}, {"ameide", "dev", "app-of-apps"},
		{"ameide", "staging", "single"}, {"ameide", "prod", "single"},
		{"ameide-tiers", "dev", "tiers"}, {"ameide-tiers", "dev", "single"}, {"ameide-tiers", "dev", "app-of-apps"},
		{"zerotouch", "main", "app-of-apps"}, {"zerotouch", "preview", "app-of-apps"},
	}
}

// TestExamplesMeetArgoCDsDefinitions sends every object of every file that is
// generated of the examples to an API server that serves Argo CD's own CRDs, as a
// dry run that refuses unknown fields.
func TestExamplesMeetArgoCDsDefinitions(t *testing.T) {
	c := start(t)
	for _, s := range scenarios() {
		t.Run(s.String(), func(t *testing.T) {
			checked := 0
			for _, f := range build(t, s).Files {
				parsed, err := manifest.Parse(f.Content)
				if err != nil {
					t.Fatalf("%s: %v", f.Path, err)
				}
				for _, p := range parsed {
					o := p.Object
					if o.GetKind() == "Kustomization" {
						continue
					}
					checked++
					if err := c.accepts(t.Context(), o); err != nil {
						t.Errorf("%s: %s %s: %v", f.Path, o.GetKind(), o.GetName(), err)
					}
				}
			}
			if checked == 0 {
				t.Error("nothing was checked")
			}
		})
	}
}

// TestDefinitionsRefuseWhatIsNotArgoCDs shows that the check can fail.
func TestDefinitionsRefuseWhatIsNotArgoCDs(t *testing.T) {
	c := start(t)
	app := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": map[string]any{"name": "a", "namespace": "argocd"}, "spec": spec,
		}}
	}
	good := map[string]any{"project": "default", "destination": map[string]any{"namespace": "a"}}
	if err := c.accepts(t.Context(), app(good)); err != nil {
		t.Errorf("a good Application is refused: %v", err)
	}
	for name, spec := range map[string]map[string]any{
		"dependsOn":      {"project": "default", "destination": map[string]any{}, "dependsOn": []any{"b"}},
		"no destination": {"project": "default"},
		"text as number": {"project": "default", "destination": map[string]any{}, "syncPolicy": map[string]any{"retry": map[string]any{"limit": "5"}}},
	} {
		if err := c.accepts(t.Context(), app(spec)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestExamplesAreGeneratedAlike generates twice: same input, same bytes.
func TestExamplesAreGeneratedAlike(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.String(), func(t *testing.T) {
			first, second := build(t, s), build(t, s)
			if len(first.Files) != len(second.Files) {
				t.Fatalf("%d files, then %d", len(first.Files), len(second.Files))
			}
			for i, f := range first.Files {
				if f.Path != second.Files[i].Path || !bytes.Equal(f.Content, second.Files[i].Content) {
					t.Errorf("%s differs", f.Path)
				}
			}
		})
	}
}

// TestExamplesReadTheirDescriptors holds that the ApplicationSets of the examples
// read the descriptors, and that nothing of them sets spec.dependsOn.
func TestExamplesReadTheirDescriptors(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.String(), func(t *testing.T) {
			r := build(t, s)
			for _, w := range r.Warnings {
				if strings.Contains(w.Message, "instead of reading the descriptors") {
					t.Error(w)
				}
			}
			sets := 0
			for _, f := range r.Files {
				if bytes.Contains(f.Content, []byte("dependsOn")) {
					t.Errorf("%s has dependsOn", f.Path)
				}
				if bytes.Contains(f.Content, []byte("kind: ApplicationSet\n")) {
					sets++
				}
			}
			if (sets == 0) != (s.layout == "app-of-apps") {
				t.Errorf("%d ApplicationSets", sets)
			}
		})
	}
}

// build generates an example.
func build(t *testing.T, s scenario) *generate.Result {
	t.Helper()
	loaded, err := analysis.Load(t.Context(), filepath.Join("..", "..", "examples", s.example), analysis.Options{Environment: s.environment, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Build(session.PlanInput(loaded, rollout.Phases, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	r, err := generate.Build(t.Context(), generate.Input{
		Platform: loaded.Platform, Plan: planned, Objects: loaded.Objects, Layout: s.layout,
		RepoURL: "https://git.example.com/acme/platform.git", Revision: "main", Image: "registry.example.com/ladder:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cluster is a plane that serves Argo CD's kinds.
type cluster struct {
	core       corev1client.CoreV1Interface
	dynamic    dynamic.Interface
	mapper     meta.ResettableRESTMapper
	namespaces map[string]bool
}

func start(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a plane")
	}
	crds := definitions(t)
	p, err := plane.Start(t.Context(), plane.Options{Executable: planetest.Binary(t), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	config, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, config)
	serve(t, config, crds)
	c.mapper.Reset()
	return c
}

func connect(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{
		core: core, dynamic: dyn, namespaces: map[string]bool{},
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asking)),
	}
}

// definitions are Argo CD's CRDs. They are not part of this repository:
// LADDER_CRDS names the folder that holds them.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	dir := os.Getenv("LADDER_CRDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "crds")
	}
	files, err := filepath.Glob(filepath.Join(dir, "argo-cd", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no CRDs; name their folder with LADDER_CRDS")
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		crds = append(crds, crd)
	}
	return crds
}

// serve creates CRDs and waits until they are served.
func serve(t *testing.T, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if _, err := client.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create the CRD %s: %v", crd.Name, err)
		}
	}
	for _, crd := range crds {
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			now, err := client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, crd.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return slices.ContainsFunc(now.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			}), nil
		})
		if err != nil {
			t.Fatalf("the CRD %s is not served: %v", crd.Name, err)
		}
	}
	// What is established is listed a moment later.
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		_, lists, err := asking.ServerGroupsAndResources()
		if err != nil {
			return false, nil //nolint:nilerr // another group may not be served yet
		}
		return !slices.ContainsFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			return !slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
				return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == crd.Spec.Names.Kind })
			})
		}), nil
	})
	if err != nil {
		t.Fatalf("the kinds of the CRDs are not listed: %v", err)
	}
}

// accepts creates an object as a dry run that refuses unknown fields.
func (c *cluster) accepts(ctx context.Context, o *unstructured.Unstructured) error {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return fmt.Errorf("find %s: %w", gvk, err)
	}
	to := dynamic.ResourceInterface(c.dynamic.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if err := c.namespace(ctx, o.GetNamespace()); err != nil {
			return err
		}
		to = c.dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	_, err = to.Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// namespace is there for the objects in it.
func (c *cluster) namespace(ctx context.Context, name string) error {
	if c.namespaces[name] || name == "default" || name == "kube-system" {
		return nil
	}
	_, err := c.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the namespace %s: %w", name, err)
	}
	c.namespaces[name] = true
	return nil
}
