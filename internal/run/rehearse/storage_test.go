package rehearse

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestClassesThatCannotBe: a name that no StorageClass can have would end the rehearsal
// where the class is made; the claim fails by itself.
func TestClassesThatCannotBe(t *testing.T) {
	var claims []manifest.Object
	for _, class := range []string{"fast", "${CLASS}", "fast", "Slow_Disks"} {
		claims = append(claims, manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "claim"},
			"spec": map[string]any{"storageClassName": class},
		}}})
	}
	var names []string
	for _, c := range clusterClasses(&analysis.Result{
		Platform: &repo.Platform{Components: []model.Component{{Name: "a"}}}, Objects: map[string][]manifest.Object{"a": claims},
	}) {
		names = append(names, c.name)
	}
	if want := []string{"fast", defaultClass}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
