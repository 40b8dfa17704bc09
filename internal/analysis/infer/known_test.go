package infer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestKnownOfAPart: where one source of a component was not rendered, all that
// is known of it counts, and nothing follows from what it does not list.
func TestKnownOfAPart(t *testing.T) {
	object := func(apiVersion, kind, name string) manifest.Object {
		return manifest.Object{Origin: manifest.Origin{File: name + ".yaml", Line: 1}, Target: "apps", Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name},
		}}}
	}
	operator := model.Component{Name: "operator", Enabled: true, Namespace: "apps", Waves: []int{2}, Position: finding.Position{File: "operator.yaml", Line: 1}}
	web := model.Component{Name: "web", Enabled: true, Namespace: "apps", Waves: []int{1}, Position: finding.Position{File: "web.yaml", Line: 1}}
	monitor := model.Component{Name: "monitor", Enabled: true, Namespace: "apps", Waves: []int{1}, Position: finding.Position{File: "monitor.yaml", Line: 1}}
	known := map[string]Known{
		"operator": {Source: "chart things 1.2.3", Kinds: []KnownKind{{Group: "example.com", Kind: "Thing", Plural: "things"}}, Unrendered: true},
		"monitor":  {Source: "chart monitor 1.0.0", Requires: []KnownKind{{Group: "example.com", Kind: "Thing"}}, Unrendered: true},
	}
	in := Input{
		Components: []model.Component{monitor, web, operator},
		Objects: map[string][]manifest.Object{
			"operator": {object("v1", "ConfigMap", "settings")},
			"web":      {object("example.com/v1", "Thing", "one"), object("example.com/v1", "Other", "two")},
		},
		Catalogue: func(c model.Component) (Known, bool) { k, ok := known[c.Name]; return k, ok },
	}
	var got []string
	r := Infer(in)
	for _, d := range r.Dependencies {
		got = append(got, d.Consumer.Component+" "+d.Reason+" by "+d.Provider.Component+" "+string(d.Basis))
	}
	for _, m := range r.Missing {
		if m.Required.Kind == "CustomResourceDefinition" {
			for _, u := range m.Unrendered {
				got = append(got, m.Reason+" perhaps of "+u)
			}
		}
	}
	want := []string{
		"monitor has objects of kind Thing of example.com by operator catalogue",
		"web is of kind Thing of example.com by operator catalogue",
		"is of kind Other of example.com perhaps of monitor",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dependencies and missing (-want +got):\n%s", diff)
	}
	known["operator"] = Known{Source: "chart things 1.2.3", Kinds: known["operator"].Kinds, Unrendered: true, Open: true}
	for _, m := range Infer(in).Missing {
		if m.Required.Kind == "CustomResourceDefinition" && len(m.Unrendered) != 2 {
			t.Errorf("missing is certain though a chart may bring more: %v", m.Unrendered)
		}
	}
}
