package analysis

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestUnreadApplications: an Application that a component turns out to render, and that was
// not read, counts as unread.
func TestUnreadApplications(t *testing.T) {
	object := func(kind, name string) manifest.Object {
		return manifest.Object{
			Unstructured: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name}}},
			Origin:       manifest.Origin{File: name + ".yaml", Line: 1},
		}
	}
	r := &Result{Argo: argo.Setup{Applications: []argo.Application{{Name: "read"}}}}
	got := r.unreadApplications(model.Component{Name: "parent"}, []manifest.Object{
		object("Application", "read"), object("Application", "web"), object("ApplicationSet", "teams"), object("AppProject", "all"),
	})
	if len(got) != 2 || got[0].Unread[0].Name != "web" || got[1].Unread[0].Name != "teams" {
		t.Fatalf("got %v", got)
	}
	const want = "the Application web is not read: it is among the objects of parent, which was not taken for a parent"
	if got[0].Message != want || got[0].Position.File != "web.yaml" {
		t.Errorf("got %q at %s", got[0].Message, got[0].Position)
	}
}

// TestApplicationsForOthers: what a ManifestWork holds of Argo CD counts as unread.
func TestApplicationsForOthers(t *testing.T) {
	manifests := []any{
		map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "argocd"}},
		map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": "spoke"}},
	}
	work := manifest.Object{
		Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": map[string]any{"name": "bootstrap", "namespace": "pool"},
			"spec": map[string]any{"workload": map[string]any{"manifests": manifests}},
		}},
		Origin: manifest.Origin{File: "work.yaml", Line: 1},
	}
	got := (&Result{}).unreadApplications(model.Component{Name: "spokes"}, []manifest.Object{work})
	if len(got) != 1 || got[0].Unread[0].Name != "spoke" {
		t.Fatalf("got %v", got)
	}
	const want = "the ApplicationSet spoke is not read: it is within ManifestWork pool/bootstrap, which has another cluster apply it"
	if got[0].Message != want {
		t.Errorf("got %q", got[0].Message)
	}
}
