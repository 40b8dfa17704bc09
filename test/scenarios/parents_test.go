package scenarios

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestExamplesHaveNoDefaultProject holds that nothing generated of the examples is
// in the project that allows everything, and that the project which comes with the
// root is the least: it allows each object that the root and its tiers apply, and
// no kind that none of them is of.
func TestExamplesHaveNoDefaultProject(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.String(), func(t *testing.T) {
			r := build(t, s)
			var own *unstructured.Unstructured
			needed := map[string]bool{}
			for _, f := range r.Files {
				rel := strings.TrimPrefix(f.Path, r.Folder+"/")
				parsed, err := manifest.Parse(f.Content)
				if err != nil {
					t.Fatalf("%s: %v", f.Path, err)
				}
				for _, p := range parsed {
					o := p.Object
					if o.GetKind() == "Application" || o.GetKind() == "ApplicationSet" {
						noDefault(t, o)
					}
					switch {
					case f.Path == r.Root && o.GetKind() == "AppProject":
						own = o
					case f.Path == r.Root, o.GetKind() == "Kustomization", rel == "settings/repository.yaml", strings.HasPrefix(rel, "smokes/"):
					default:
						needed[o.GroupVersionKind().Group+"/"+o.GetKind()] = true
						if o.GetNamespace() != "argocd" {
							t.Errorf("%s: %s %s is in %q", f.Path, o.GetKind(), o.GetName(), o.GetNamespace())
						}
					}
				}
			}
			if own == nil {
				t.Fatal("the root brings no project")
			}
			allows(t, own, needed)
		})
	}
}

// noDefault fails where an Application, or those of a set, are in the project
// "default", or in none.
func noDefault(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	fields := []string{"spec", "project"}
	if o.GetKind() == "ApplicationSet" {
		fields = []string{"spec", "template", "spec", "project"}
	}
	if name, _, _ := unstructured.NestedString(o.Object, fields...); name == "default" || name == "" {
		t.Errorf("%s %s is in the project %q", o.GetKind(), o.GetName(), name)
	}
}

// allows compares the kinds and places that a project allows with what is needed.
func allows(t *testing.T, own *unstructured.Unstructured, needed map[string]bool) {
	t.Helper()
	list := func(fields ...string) []any {
		items, _, err := unstructured.NestedSlice(own.Object, append([]string{"spec"}, fields...)...)
		if err != nil {
			t.Fatal(err)
		}
		return items
	}
	allowed := map[string]bool{}
	for _, item := range list("namespaceResourceWhitelist") {
		kind, _ := item.(map[string]any)
		allowed[kind["group"].(string)+"/"+kind["kind"].(string)] = true
	}
	for kind := range needed {
		if !allowed[kind] {
			t.Errorf("%s is not allowed", kind)
		}
	}
	for kind := range allowed {
		if !needed[kind] {
			t.Errorf("%s is allowed, and nothing is of that kind", kind)
		}
	}
	if wide := list("clusterResourceWhitelist"); len(wide) > 0 {
		t.Errorf("cluster-wide kinds are allowed: %v", wide)
	}
	here := map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"}
	for _, item := range list("destinations") {
		if to, _ := item.(map[string]any); to["server"] != here["server"] || to["namespace"] != here["namespace"] {
			t.Errorf("the destination %v is allowed", item)
		}
	}
	if sources := list("sourceRepos"); !slices.Equal(sources, []any{"https://git.example.com/acme/platform.git"}) {
		t.Errorf("the sources %v are allowed", sources)
	}
}
