package simulate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestRulesReportFieldsOfRealKinds holds the statuses of the rules to the
// schemas of the real projects. They are not part of this repository:
// LADDER_CRDS names their folder.
func TestRulesReportFieldsOfRealKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every CRD")
	}
	dir := os.Getenv("LADDER_CRDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "crds")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no CRDs in %s; name their folder with LADDER_CRDS", dir)
	}
	groups, schemas := map[string]bool{}, map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		groups[crd.Spec.Group] = true
		for _, v := range crd.Spec.Versions {
			if v.Storage && v.Schema != nil {
				schemas[crd.Spec.Group+"/"+crd.Spec.Names.Kind] = v.Schema.OpenAPIV3Schema
			}
		}
	}
	set, err := LoadRules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, o := range set.Operators {
		var statuses []apiextensionsv1.JSONSchemaProps
		for _, id := range o.For {
			group, _, _ := strings.Cut(id, "/")
			schema := schemas[id]
			if schema == nil {
				if groups[group] {
					t.Errorf("%s: there is no such kind in %s", o.Source, id)
				}
				continue
			}
			checked++
			statuses = append(statuses, schema.Properties["status"])
		}
		if len(statuses) == 0 {
			continue
		}
		// A rule for several kinds may report what only some of them have.
		where := o.Source + " " + strings.Join(o.For, ", ") + " status"
		wantKnown(t, where, o.Status.Ready, statuses)
		wantKnown(t, where, o.Status.Waiting, statuses)
		for _, r := range o.Requires {
			wantKnown(t, where, r.Waiting, statuses)
		}
	}
	if checked < 50 {
		t.Errorf("only %d kinds were checked", checked)
	}
}

func wantKnown(t *testing.T, where string, value any, schemas []apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for _, s := range schemas {
			if s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields || s.AdditionalProperties != nil {
				return
			}
		}
		for key, inner := range v {
			var known []apiextensionsv1.JSONSchemaProps
			for _, s := range schemas {
				if p, ok := s.Properties[key]; ok {
					known = append(known, p)
				}
			}
			if len(known) == 0 {
				t.Errorf("%s: the real schema has no field %s", where, key)
				continue
			}
			wantKnown(t, where+"."+key, inner, known)
		}
	case []any:
		var items []apiextensionsv1.JSONSchemaProps
		for _, s := range schemas {
			if s.Items != nil && s.Items.Schema != nil {
				items = append(items, *s.Items.Schema)
			}
		}
		for _, item := range v {
			wantKnown(t, where, item, items)
		}
	}
}
