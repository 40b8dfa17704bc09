package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// overlay is one environment of an example.
type overlay struct{ example, environment string }

var overlays = []overlay{
	{"examples/ameide", "dev"}, {"examples/ameide", "staging"}, {"examples/ameide", "prod"},
	{"examples/ameide-tiers", "dev"}, {"examples/zerotouch", "main"}, {"examples/zerotouch", "preview"},
}

// definitions are the CRDs of the real projects: their files by group and kind,
// which are long and read when they are asked for.
type definitions struct {
	t     *testing.T
	files map[schema.GroupKind]string
}

// definitionFiles looks the files up once. They are not part of this repository:
// LADDER_CRDS names their folder.
var definitionFiles = sync.OnceValues(func() (map[schema.GroupKind]string, error) {
	dir := os.Getenv("LADDER_CRDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "crds")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		return nil, err
	}
	group, kind := regexp.MustCompile(`(?m)^  group: "?([^\s"]+)"?$`), regexp.MustCompile(`(?m)^    kind: "?([^\s"]+)"?$`)
	found := map[schema.GroupKind]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		g, k := group.FindSubmatch(text), kind.FindSubmatch(text)
		if g == nil || k == nil {
			return nil, fmt.Errorf("%s: no group and kind where a CRD has them", file)
		}
		found[schema.GroupKind{Group: string(g[1]), Kind: string(k[1])}] = file
	}
	return found, nil
})

// someDefinitions may be none.
func someDefinitions(t *testing.T) definitions {
	t.Helper()
	files, err := definitionFiles()
	if err != nil {
		t.Fatal(err)
	}
	return definitions{t, files}
}

// realCRDs skips a test where there are no definitions.
func realCRDs(t *testing.T) definitions {
	t.Helper()
	d := someDefinitions(t)
	if len(d.files) == 0 {
		t.Skip("no CRDs; name their folder with LADDER_CRDS")
	}
	return d
}

// of reads the definition of a kind; nil where it is not at hand.
func (d definitions) of(gk schema.GroupKind) *apiextensionsv1.CustomResourceDefinition {
	d.t.Helper()
	file, ok := d.files[gk]
	if !ok {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, crd); err != nil {
		d.t.Fatalf("%s: %v", file, err)
	}
	if crd.Spec.Group != gk.Group || crd.Spec.Names.Kind != gk.Kind {
		d.t.Fatalf("%s defines %s %s, not %s", file, crd.Spec.Group, crd.Spec.Names.Kind, gk)
	}
	return crd
}

// rendered loads one overlay; everything in it must render.
func rendered(t *testing.T, o overlay) []manifest.Object {
	t.Helper()
	r, err := analysis.Load(t.Context(), filepath.Join(repositoryRoot(t), o.example), analysis.Options{Environment: o.environment, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.Unrendered {
		t.Errorf("%s is not rendered: %v", u.Component, u)
	}
	var all []manifest.Object
	for _, name := range sortedKeys(r.Objects) {
		all = append(all, r.Objects[name]...)
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestCustomResourcesAreValidAgainstRealCRDs sends every custom resource of the
// examples to an API server that serves the real projects' CRDs.
func TestCustomResourcesAreValidAgainstRealCRDs(t *testing.T) {
	t.Parallel()
	crds := realCRDs(t)
	p, client := startPlane(t)
	dyn := dynamicOf(t, p)
	known := map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{}
	installed := 0
	checked := map[string]bool{}
	count := 0
	for _, o := range overlays {
		for _, object := range rendered(t, o) {
			gk := object.GroupVersionKind().GroupKind()
			crd, seen := known[gk]
			if !seen {
				crd = crds.of(gk)
				known[gk] = crd
				if crd != nil {
					installed++
					install(t, dyn, crd)
				}
			}
			if crd == nil {
				continue
			}
			text, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if checked[string(text)] {
				continue // the same in another environment
			}
			checked[string(text)] = true
			count++
			dryRun(t, dyn, client, o, object, crd)
		}
	}
	t.Logf("%d custom resources of %d kinds", count, installed)
	if count < 100 {
		t.Errorf("only %d custom resources were checked", count)
	}
}

// install creates CRDs and waits until they are served.
func install(t *testing.T, dyn dynamic.Interface, crds ...*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	resource := dyn.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(content, "status")
		withoutDescriptions(content["spec"])
		if _, err := resource.Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
			t.Fatalf("install %s: %v", crd.Name, err)
		}
	}
	for _, crd := range crds {
		established(t, resource, crd)
	}
}

// withoutDescriptions takes the prose out of schemas, which is most of their
// bytes and validates nothing. A property of that name is no text.
func withoutDescriptions(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, prose := node["description"].(string); prose {
			delete(node, "description")
		}
		for _, child := range node {
			withoutDescriptions(child)
		}
	case []any:
		for _, child := range node {
			withoutDescriptions(child)
		}
	}
}

// established waits until a CRD is served.
func established(t *testing.T, resource dynamic.ResourceInterface, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	eventually(t, func() error {
		live, err := resource.Get(t.Context(), crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("%s is not established", crd.Name)
	})
}

// dryRun asks the API server whether it would take the object, strictly.
func dryRun(t *testing.T, dyn dynamic.Interface, client kubernetes.Interface, o overlay, object manifest.Object, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	r := object.Resource()
	if namespaced {
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("namespace of %s: %v", r.Human(), err)
		}
	}
	// Strict validation refuses unknown fields as well, which a plain create
	// prunes silently.
	resource := dyn.Resource(object.GroupVersionKind().GroupVersion().WithResource(crd.Spec.Names.Plural))
	target := dynamic.ResourceInterface(resource)
	if namespaced {
		target = resource.Namespace(r.Namespace)
	}
	copied := object.DeepCopy()
	if namespaced {
		copied.SetNamespace(r.Namespace)
	}
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	if _, err := target.Create(t.Context(), copied, options); err != nil {
		t.Errorf("%s %s: %s (%s): %v", o.example, o.environment, r.Human(), object.Origin.Position(), err)
	}
}

// TestShortCRDsAreSubsets holds the examples' own short CRDs to the real ones:
// names and scope are the same, and every field that they know is a field of
// the real schema, of the same type.
func TestShortCRDsAreSubsets(t *testing.T) {
	t.Parallel()
	real := realCRDs(t)
	seen := map[string]bool{}
	for _, o := range overlays {
		for _, object := range rendered(t, o) {
			if object.GetKind() != "CustomResourceDefinition" || seen[o.example+object.GetName()] {
				continue
			}
			seen[o.example+object.GetName()] = true
			short := &apiextensionsv1.CustomResourceDefinition{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, short); err != nil {
				t.Errorf("%s: %v", object.Origin.Position(), err)
				continue
			}
			full := real.of(schema.GroupKind{Group: short.Spec.Group, Kind: short.Spec.Names.Kind})
			if full == nil {
				t.Errorf("%s: there is no real CRD of %s %s", object.Origin.Position(), short.Spec.Group, short.Spec.Names.Kind)
				continue
			}
			compareCRDs(t, object.Origin.File, short, full)
		}
	}
	if len(seen) < 30 {
		t.Errorf("only %d CRDs were compared", len(seen))
	}
}

func compareCRDs(t *testing.T, file string, short, full *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	if short.Spec.Names.Plural != full.Spec.Names.Plural || short.Spec.Scope != full.Spec.Scope {
		t.Errorf("%s: plural %s and scope %s, the real ones are %s and %s", file,
			short.Spec.Names.Plural, short.Spec.Scope, full.Spec.Names.Plural, full.Spec.Scope)
	}
	versions := map[string]apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, v := range full.Spec.Versions {
		versions[v.Name] = v
	}
	for _, v := range short.Spec.Versions {
		other, ok := versions[v.Name]
		if !ok || !other.Served {
			t.Errorf("%s: version %s is not served by the real CRD", file, v.Name)
			continue
		}
		if v.Schema != nil && other.Schema != nil {
			compareSchemas(t, file+" "+v.Name, "", v.Schema.OpenAPIV3Schema, other.Schema.OpenAPIV3Schema)
		}
	}
}

func compareSchemas(t *testing.T, where, path string, short, full *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	if short == nil || full == nil || full.XPreserveUnknownFields != nil && *full.XPreserveUnknownFields {
		return
	}
	if short.Type != full.Type && (!short.XIntOrString || !full.XIntOrString) {
		t.Errorf("%s: %s is of type %q, really %q", where, path, short.Type, full.Type)
	}
	for _, name := range sortedKeys(short.Properties) {
		if path == "" && (name == "metadata" || name == "apiVersion" || name == "kind") {
			continue
		}
		inner := short.Properties[name]
		other, ok := full.Properties[name]
		if !ok {
			t.Errorf("%s: the real schema has no field %s", where, strings.TrimPrefix(path+"."+name, "."))
			continue
		}
		compareSchemas(t, where, path+"."+name, &inner, &other)
	}
	if short.Items != nil && full.Items != nil {
		compareSchemas(t, where, path+"[]", short.Items.Schema, full.Items.Schema)
	}
	if short.AdditionalProperties != nil && full.AdditionalProperties != nil {
		compareSchemas(t, where, path+"{}", short.AdditionalProperties.Schema, full.AdditionalProperties.Schema)
	}
}
