package analysis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const checked = `
-- environments/dev/components/web/component.yaml --
name: web
domain: apps
namespace: apps
rolloutPhase: "650"
componentType: runtime
manifests: {path: sources/web}
smoke:
- cel: {apiVersion: v1, kind: ConfigMap, expression: "objects.size() >= 0"}
- cel: {apiVersion: v1, kind: ConfigMap, expression: "objects.size() > 0"}
health:
- {group: "", kind: ConfigMap, cel: "has(object.data)"}
- {group: "", kind: Secret, lua: "return {status = 'Healthy'}"}
-- sources/web/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`

// What a worker said of expressions is kept; what cannot be read of it is asked for again.
func TestExpressionsAreRemembered(t *testing.T) {
	dir := extract(t, checked)
	o := Options{Offline: true, CacheDir: t.TempDir()}
	load := func() map[string]bool {
		r, err := Load(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) > 0 {
			t.Fatal(r.Findings)
		}
		return r.certain
	}
	want := map[string]bool{"objects.size() >= 0": true}
	file := func() string {
		names, err := filepath.Glob(filepath.Join(o.CacheDir, "expressions", "*"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%q, %v", names, err)
		}
		return names[0]
	}
	if diff := cmp.Diff(want, load()); diff != "" {
		t.Fatalf("at first (-want +got):\n%s", diff)
	}
	kept, err := os.ReadFile(file())
	if err != nil || string(kept) != "[true,false,false,false]" {
		t.Fatalf("%s, %v", kept, err)
	}
	for _, damaged := range []string{"", "[true", "[true,true]", "{}", "null"} {
		if err := os.WriteFile(file(), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, load()); diff != "" {
			t.Errorf("of %q (-want +got):\n%s", damaged, diff)
		}
	}
	if now, err := os.ReadFile(file()); err != nil || string(now) != string(kept) {
		t.Errorf("%s, %v", now, err)
	}
	if err := os.WriteFile(file(), []byte("[false,true,false,false]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"objects.size() > 0": true}, load()); diff != "" {
		t.Errorf("the file is not read (-want +got):\n%s", diff)
	}
}

// What is refused is told each time: nothing is kept of it.
func TestRefusedExpressionsAreNotRemembered(t *testing.T) {
	dir := extract(t, checked+`
-- environments/dev/components/db/component.yaml --
name: db
domain: apps
namespace: apps
rolloutPhase: "650"
componentType: runtime
manifests: {path: sources/web}
health:
- {group: "", kind: ConfigMap, cel: "has(object.data"}
`)
	o := Options{Offline: true, CacheDir: t.TempDir()}
	for range 2 {
		r, err := Load(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, f := range r.Findings {
			if f.Component == "db" && f.Position.Line == 8 {
				refused++
			}
		}
		if refused != 1 {
			t.Errorf("%d findings: %v", refused, r.Findings)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(o.CacheDir, "expressions", "*")); len(names) > 0 {
		t.Errorf("kept: %q", names)
	}
}
