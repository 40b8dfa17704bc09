package examples_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/plane"
)

// definition is what the tests need of a CRD.
type definition struct {
	object  *unstructured.Unstructured
	group   string
	kind    string
	plural  string
	version string // the storage version
	scope   string
	schema  map[string]any
}

func define(t *testing.T, object map[string]any) definition {
	t.Helper()
	u := &unstructured.Unstructured{Object: object}
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(object, path...)
		return s
	}
	d := definition{
		object: u, group: text("spec", "group"), scope: text("spec", "scope"),
		kind: text("spec", "names", "kind"), plural: text("spec", "names", "plural"),
	}
	versions, _, _ := unstructured.NestedSlice(object, "spec", "versions")
	for _, v := range versions {
		if v := v.(map[string]any); v["storage"] == true {
			d.version = v["name"].(string)
			d.schema, _, _ = unstructured.NestedMap(v, "schema", "openAPIV3Schema")
		}
	}
	if d.schema == nil {
		t.Fatalf("%s has no storage version with a schema", u.GetName())
	}
	return d
}

// crds returns the example's definitions by "group/kind", from dev: the
// packages are the same everywhere.
func crds(t *testing.T) map[string]definition {
	t.Helper()
	out := map[string]definition{}
	_, objects := platform(t, "dev")
	for _, list := range objects {
		for _, o := range list {
			if o.GetKind() == "CustomResourceDefinition" {
				d := define(t, o.Object)
				out[d.group+"/"+d.kind] = d
			}
		}
	}
	return out
}

// realCRD reads the definition of the same name from the collection of real
// CRDs, and skips the test where there is no collection.
func realCRD(t *testing.T, name string) definition {
	t.Helper()
	dir, given := os.LookupEnv("LADDER_CRDS")
	if !given {
		dir = filepath.Join("..", "..", "..", "shared", "crds")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no collection of real CRDs at %s; name one with LADDER_CRDS", dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", name+".yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no real CRD %s in %s (%v)", name, dir, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	return define(t, object)
}

// The example's short CRDs say the same as the real ones where they say
// anything: same group, kind, plural, scope and version, and every field exists
// there with the same type.
func TestAmeideCRDsAreSubsetsOfTheRealOnes(t *testing.T) {
	known := crds(t)
	for _, key := range slices.Sorted(maps.Keys(known)) {
		short := known[key]
		t.Run(short.object.GetName(), func(t *testing.T) {
			t.Parallel()
			full := realCRD(t, short.object.GetName())
			same := func(d definition) []string { return []string{d.group, d.kind, d.plural, d.scope, d.version} }
			if !slices.Equal(same(short), same(full)) {
				t.Errorf("%v, really %v", same(short), same(full))
			}
			subset(t, "", short.schema, full.schema)
		})
	}
}

func subset(t *testing.T, path string, short, full map[string]any) {
	t.Helper()
	if path != "" && short["x-kubernetes-preserve-unknown-fields"] == true && full["x-kubernetes-preserve-unknown-fields"] != true {
		if _, open := full["additionalProperties"]; !open {
			t.Errorf("%s: keeps unknown fields, the real one does not", path)
		}
	}
	intOrString := func(s map[string]any) bool { return s["x-kubernetes-int-or-string"] == true }
	if short["type"] != full["type"] && (!intOrString(short) || !intOrString(full)) {
		t.Errorf("%s: type %v, really %v", path, short["type"], full["type"])
	}
	for _, word := range []string{"enum", "default"} {
		if v, ok := short[word]; ok && fmt.Sprint(v) != fmt.Sprint(full[word]) {
			t.Errorf("%s: %s %v, really %v", path, word, v, full[word])
		}
	}
	child := func(name, word string) {
		s, ok := short[word].(map[string]any)
		if !ok {
			return
		}
		f, ok := full[word].(map[string]any)
		if !ok {
			t.Errorf("%s: has %s, the real one does not", path, word)
			return
		}
		subset(t, path+name, s, f)
	}
	child("[]", "items")
	child("{}", "additionalProperties")
	fields, _ := short["properties"].(map[string]any)
	really, _ := full["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, ok := really[name].(map[string]any)
		if !ok {
			t.Errorf("%s.%s: not a field of the real one", path, name)
			continue
		}
		subset(t, path+"."+name, fields[name].(map[string]any), field)
	}
}

// Every custom resource of every environment is valid against the real CRD of
// its kind, as the API server judges it.
func TestAmeideObjectsAreValidAgainstTheRealCRDs(t *testing.T) {
	known := crds(t)
	realCRD(t, "certificates.cert-manager.io") // skips early
	custom, namespaces := map[string][]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	for _, environment := range ameideEnvironments {
		_, objects := platform(t, environment)
		for _, list := range objects {
			for _, o := range list {
				key := o.GroupVersionKind().Group + "/" + o.GetKind()
				if _, ok := known[key]; ok {
					custom[key] = append(custom[key], o.Unstructured)
				}
				if o.GetKind() == "Namespace" {
					namespaces[o.GetName()] = o.Unstructured
				}
			}
		}
	}
	client := planeClient(t)
	apply := func(resource schema.GroupVersionResource, o *unstructured.Unstructured, dryRun ...string) error {
		_, err := client.Resource(resource).Namespace(o.GetNamespace()).Apply(t.Context(), o.GetName(), o,
			metav1.ApplyOptions{FieldManager: "ladder-test", Force: true, DryRun: dryRun})
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		return nil
	}
	for _, n := range namespaces {
		if err := apply(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, n); err != nil {
			t.Fatal(err)
		}
	}
	var g errgroup.Group
	g.SetLimit(4)
	full := map[string]definition{}
	for key := range custom {
		full[key] = realCRD(t, known[key].object.GetName())
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, d := range full {
		g.Go(func() error { return apply(definitions, d.object) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for key, objects := range custom {
		resource := schema.GroupVersionResource{Group: full[key].group, Version: full[key].version, Resource: full[key].plural}
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil, nil
		})
		if err != nil {
			t.Fatalf("%s is not served: %v", resource, err)
		}
		for _, o := range objects {
			if err := apply(resource, o, metav1.DryRunAll); err != nil {
				t.Error(err)
			}
		}
	}
}

// planeClient starts a plane and returns a client of it.
func planeClient(t *testing.T) dynamic.Interface {
	t.Helper()
	binary, given := os.LookupEnv("LADDER_BINARY")
	if !given {
		binary = filepath.Join("..", "..", "bin", "ladder")
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("the ladder binary is missing at %s: run `make build`, or name another with LADDER_BINARY", binary)
	}
	p, err := plane.Start(t.Context(), plane.Options{Executable: binary})
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
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
