package snapshot

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWhatPeopleWriteHasNoSecret writes a secret in every way that no name and no look
// gives away.
func TestWhatPeopleWriteHasNoSecret(t *testing.T) {
	const canary = "Wq7-canary-Zx9"
	for name, spec := range map[string]map[string]any{
		"second document of a patch": {"source": map[string]any{"kustomize": map[string]any{"patches": []any{map[string]any{
			"patch": "kind: ConfigMap\n---\nkind: Secret\nstringData: {pw: " + canary + "}\n",
		}}}}},
		"text that is a template":       {"templatePatch": "{{ if .x }}\nspec: {source: {helm: {values: 'db: {pw: " + canary + "}'}}}\n{{ end }}\n"},
		"Secret in values":              {"source": map[string]any{"helm": map[string]any{"values": "extraObjects:\n- kind: Secret\n  data: {license: " + canary + "}\n"}}},
		"parameter of an innocent name": {"source": map[string]any{"helm": map[string]any{"parameters": []any{map[string]any{"name": "license", "value": canary}}}}},
		"variable of a plugin":          {"source": map[string]any{"plugin": map[string]any{"env": []any{map[string]any{"name": "LOGIN", "value": canary}}}}},
		"element of a generator":        {"generators": []any{map[string]any{"list": map[string]any{"elements": []any{map[string]any{"pin": canary}}}}}},
		"field that nobody knows":       {"login": canary, "destination": map[string]any{"login": canary}},
		"object in the place of a text": {"project": map[string]any{"x": canary}, "source": map[string]any{"path": []any{map[string]any{"x": canary}}}},
	} {
		for _, kind := range []string{"Application", "ApplicationSet", "AppProject"} {
			of := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "spec": spec,
				"metadata": map[string]any{"name": "web", "annotations": map[string]any{"notifications.example.org/hook": canary}},
			}}
			got := (&Snapshot{Objects: []*unstructured.Unstructured{(&cleaner{}).object(of)}})
			text, err := got.YAML()
			if err != nil || strings.Contains(string(text), canary) {
				t.Errorf("%s of an %s: %v\n%s", name, kind, err, text)
			}
		}
	}
}
