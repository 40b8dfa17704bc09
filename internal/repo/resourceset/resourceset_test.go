package resourceset

import (
	"strings"
	"testing"
)

// names are the kinds and names of objects.
func names(objects []map[string]any) string {
	var out []string
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		kind, _ := o["kind"].(string)
		name, _ := metadata["name"].(string)
		out = append(out, kind+" "+name)
	}
	return strings.Join(out, ", ")
}

func TestMake(t *testing.T) {
	object := func(name string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}
	}
	inputs := []map[string]any{{"name": "one"}, {"name": "two"}}
	tests := []struct {
		name string
		set  Set
		want string
		err  string
	}{
		{"once without inputs", Set{Resources: []any{object("plain")}}, "ConfigMap plain", ""},
		{"each input", Set{Resources: []any{object("<< inputs.name >>")}, Inputs: inputs}, "ConfigMap one, ConfigMap two", ""},
		{"what two inputs make alike", Set{Resources: []any{object("same")}, Inputs: inputs}, "ConfigMap same", ""},
		{"documents of one text", Set{Template: "kind: A\nmetadata: {name: a}\n---\nkind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: B, metadata: {name: b}}\n"}, "A a, B b", ""},
		{"what is disabled", Set{Template: "kind: A\nmetadata: {name: a, annotations: {fluxcd.controlplane.io/reconcile: disabled}}\n"}, "", ""},
		{"an input that is not there", Set{Resources: []any{object("<< if inputs.other >>a<< end >>")}, Inputs: inputs}, "", "map has no entry"},
		{"the slug of a name", Set{Resources: []any{object("<< slugify inputs.name >>")}, Inputs: inputs[:1]}, "ConfigMap one", ""},
		{"the slug of a text", Set{Resources: []any{object("<< slugify \"Größe\" >>")}}, "", "not known"},
		{"the time", Set{Resources: []any{object("<< now >>")}}, "", "not defined"},
		{"more than are read", Set{Template: "<< range $i, $_ := until 1001 >>kind: A\nmetadata: {name: a<< $i >>}\n---\n<< end >>"}, "", "more than 1000"},
	}
	for _, test := range tests {
		made, err := Make(test.set)
		if got := names(made); got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, error %v", test.name, got, err)
		}
	}
}

// FuzzMake holds that no template makes more objects than the limit, or panics.
func FuzzMake(f *testing.F) {
	f.Add("kind: A\nmetadata: {name: << inputs.name >>}\n", "one")
	f.Add("<< range $i, $_ := until 3 >>kind: A\nmetadata: {name: a<< $i >>}\n---\n<< end >>", "two")
	f.Fuzz(func(t *testing.T, template, name string) {
		if strings.Contains(template, "until") || strings.Contains(template, "repeat") || strings.Contains(template, "seq") {
			t.Skip() // the worker bounds their time and memory
		}
		made, _ := Make(Set{Template: template, Inputs: []map[string]any{{"name": name}}})
		if len(made) > Most {
			t.Errorf("%d objects", len(made))
		}
	})
}
