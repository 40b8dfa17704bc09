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
