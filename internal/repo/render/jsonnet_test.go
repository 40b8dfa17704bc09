package render

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// TestJsonnet evaluates the Jsonnet of a folder. Expected values are those of Argo CD's
// documentation of Jsonnet and of the Jsonnet language.
func TestJsonnet(t *testing.T) {
	const files = `
-- app/one.jsonnet --
{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: std.extVar('name') }, data: { n: std.toString(std.extVar('n')) } }
-- app/several.jsonnet --
local lib = import 'lib.libsonnet';
function(count=1) [lib.map('m%d' % i) for i in std.range(1, count)]
  + [{ apiVersion: 'v1', kind: 'List', items: [lib.map('listed')] }, null]
-- app/only-imported.libsonnet --
error 'evaluated'
-- app/below/not-recursive.jsonnet --
error 'evaluated'
-- first/lib.libsonnet --
error 'the last library wins'
-- second/lib.libsonnet --
{ map(name): { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name }, data: { text: importstr 'text.txt' } } }
-- second/text.txt --
beside the library
-- outside/escapes.jsonnet --
import '../../outside.libsonnet'
-- outside-absolutely/escapes.jsonnet --
importstr '/etc/hostname'
-- nothing/a.jsonnet --
{ metadata: { name: 'a' } }
-- quotes/a.jsonnet --
{ password 'CANARY' }
-- fails/a.jsonnet --
{ apiVersion: 'v1', kind: 'Secret', data: { password: std.parseInt('CANARY') } }
-- ends/a.jsonnet --
error 'CAN' + 'ARY'
-- wrong/a.jsonnet --
{
  apiVersion: 'v1',
  kind: missing,
}
`
	dir := t.TempDir()
	extract(t, dir, files)
	render := func(src model.Source) ([]string, error) {
		src.Kind = model.Manifests
		r := New(dir, dir, Options{Offline: true, NoCache: true})
		objects, err := r.Component(t.Context(), model.Component{Name: "app", Sources: []model.Source{src}})
		var all []string
		for _, o := range objects {
			n, _, _ := strings.Cut(o.Origin.File, "/")
			data, _ := o.Object["data"].(map[string]any)
			text, _ := data["text"].(string)
			number, _ := data["n"].(string)
			all = append(all, n+" "+o.GetKind()+" "+o.GetName()+" "+strings.TrimSpace(text+number))
		}
		return all, err
	}
	got, err := render(model.Source{Path: "app", Jsonnet: &model.Jsonnet{
		ExtVars: []model.JsonnetVariable{{Name: "name", Value: "1 + 1"}, {Name: "n", Value: "1 + 1", Code: true}},
		TLAs:    []model.JsonnetVariable{{Name: "count", Value: "2", Code: true}},
		Libs:    []string{"first", "second"},
	}})
	want := []string{"app ConfigMap 1 + 1 2", "app ConfigMap m1 beside the library", "app ConfigMap m2 beside the library", "app ConfigMap listed beside the library"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for folder, reason := range map[string]string{
		"outside":            "there is no ../../outside.libsonnet to import",
		"outside-absolutely": "the import /etc/hostname leaves the repository",
		"nothing":            "no Kubernetes object",
		"wrong":              "wrong/a.jsonnet:3:9-16: Unknown variable: missing",
		"quotes":             "quotes/a.jsonnet:1:12-20: run jsonnet",
		"fails":              "run jsonnet on it",
		"ends":               "run jsonnet on it",
	} {
		var problem *Error
		if _, err := render(model.Source{Path: folder}); !errors.As(err, &problem) || !strings.Contains(problem.Reason, reason) {
			t.Errorf("%s: got %v, want %q", folder, err, reason)
		}
		if strings.Contains(fmt.Sprint(problem), "CANARY") {
			t.Errorf("%s tells a value: %v", folder, problem)
		}
	}
}

// TestLastBreak renders a text block at the end of a template without a line break
// there: Helm prints one, so that the text has it.
func TestLastBreak(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, "-- c/Chart.yaml --\n{apiVersion: v2, name: c, version: 1.0.0}\n-- c/templates/a.yaml --\n"+
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    text\n    {{- /* ends the line */ -}}\n")
	objects, err := New(dir, dir, Options{Offline: true, NoCache: true}).Component(t.Context(), model.Component{Name: "c", Sources: []model.Source{{Kind: model.Chart, Path: "c"}}})
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	if got := objects[0].Object["data"].(map[string]any)["a"]; got != "text\n" {
		t.Errorf("got %q", got)
	}
}
