package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// What is made held starts nothing, needs no further hold, and is at the end of its
// run as it was written.
func TestHeld(t *testing.T) {
	for name, text := range map[string]string{
		"automated alone":    idle("shop", "automated: {prune: true}"),
		"automated and more": idle("shop", "automated: {selfHeal: true}, retry: {limit: 2}"),
		"automated, empty":   idle("shop", "automated: {}"),
		"not automated":      idle("shop", "retry: {limit: 2}"),
		"RollingSync":        platformSet(rollingSteps),
	} {
		t.Run(name, func(t *testing.T) {
			var written unstructured.Unstructured
			if data, err := yaml.YAMLToJSON([]byte(text)); err != nil || written.UnmarshalJSON(data) != nil {
				t.Fatal(err)
			}
			held, err := Held(&written, commit)
			if err != nil {
				t.Fatal(err)
			}
			isSet := held.GetKind() == "ApplicationSet"
			if isSet {
				set, err := status.ParseSet(held)
				if err != nil || !set.Stopped() {
					t.Errorf("not held: %v %v", set, err)
				}
			} else if a, err := status.Parse(held); err != nil || a.SyncPolicy.IsAutomated() {
				t.Errorf("not held: %v %v", a, err)
			}
			again, err := Held(held, "another run")
			if diff := cmp.Diff(held.Object, again.Object); diff != "" || err != nil {
				t.Errorf("held a second time: %v %s", err, diff)
			}
			made, err := yaml.Marshal(held.Object)
			if err != nil {
				t.Fatal(err)
			}
			m := newMemory(t, string(made))
			if err := m.engine("", "shop").Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			kind := status.Applications()
			if isSet {
				kind = status.ApplicationSets()
			}
			live, err := m.client.Resource(kind).Namespace("argocd").Get(t.Context(), written.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(written.Object["spec"], live.Object["spec"]); diff != "" {
				t.Errorf("not as it was written: %s", diff)
			}
			if _, there := live.GetAnnotations()[status.HeldAnnotation]; there {
				t.Error("the annotation is left")
			}
		})
	}
	if _, err := Held(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": "platform", "namespace": "argocd"}, "spec": map[string]any{},
	}}, commit); err == nil {
		t.Error("an ApplicationSet that syncs at once counts as held")
	}
}
