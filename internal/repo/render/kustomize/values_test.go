package kustomize

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/yaml"
)

// Values are what a client reads from what kustomize prints, also where printing
// changes a text.
func TestValuesAreThePrintedOnes(t *testing.T) {
	const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: texts}
data:
  folded: >-
    max by (pod) (

      usage{
        severity="Critical"}

    ) > 0
  literal: |
    a
      b
  number: "007"
  date: 2024-01-02
`
	resources, err := provider.NewDefaultDepProvider().GetResourceFactory().SliceFromBytes([]byte(text))
	if err != nil || len(resources) != 1 {
		t.Fatal(resources, err)
	}
	printed, err := resources[0].AsYAML()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := yaml.Unmarshal(printed, &want); err != nil {
		t.Fatal(err)
	}
	got, size, err := values(resources[0])
	if err != nil || size == 0 {
		t.Fatal(size, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	direct, err := resources[0].Map()
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(want, direct) {
		t.Error("kustomize prints what it has: Values need not go by the print")
	}
}
