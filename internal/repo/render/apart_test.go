package render

import (
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// schematic has two kustomizations that patch one of two containers. The first says by
// a schema of its own that a list of containers is replaced and not merged; the others
// cannot be built, each in its own way, with a schema.
const schematic = `
-- schema/kustomization.yaml --
resources: [deployment.yaml]
patches: [{path: patch.yaml}]
openapi: {path: schema.json}
-- schema/schema.json --
{"definitions": {"Deployment": {"type": "object", "properties": {"spec": {"type": "object"}},
 "x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}]}}}
-- broken/kustomization.yaml --
resources: [deployment.yaml]
patches: [{path: patch.yaml}]
openapi: {path: schema.json}
-- broken/schema.json --
{"definitions": [
-- version/kustomization.yaml --
resources: [deployment.yaml]
patches: [{path: patch.yaml}]
openapi: {version: v0.0.0}
-- usual/kustomization.yaml --
resources: [deployment.yaml]
patches: [{path: patch.yaml}]
`

const patchedDeployment = `
-- DIR/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec: {template: {spec: {containers: [{name: one, image: one}, {name: two, image: two}]}}}
-- DIR/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec: {template: {spec: {containers: [{name: one, image: patched}]}}}
`

// TestSchemasStayApart: a worker builds one kustomization after the other, and what one
// of them names does not change what others are built to.
func TestSchemasStayApart(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, schematic)
	containers := map[string]int{"schema": 1, "broken": 0, "version": 0, "usual": 2}
	for name := range containers {
		extract(t, dir, strings.ReplaceAll(patchedDeployment, "DIR", name))
	}
	r := New(dir, dir, Options{Offline: true, NoCache: true})
	for _, name := range []string{"usual", "schema", "usual", "broken", "usual", "version", "usual"} {
		objects, err := r.Component(t.Context(), model.Component{Name: name, Sources: []model.Source{{Kind: model.Kustomize, Path: name}}})
		if containers[name] == 0 {
			if err == nil {
				t.Errorf("%s is built", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		template := objects[0].Object["spec"].(map[string]any)["template"].(map[string]any)
		if got := len(template["spec"].(map[string]any)["containers"].([]any)); got != containers[name] {
			t.Errorf("%s has %d containers, want %d", name, got, containers[name])
		}
	}
}
