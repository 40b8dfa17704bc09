package render

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// TestBuildIsKept: a kustomization that was built is not built again while its files answer the same; a
// damaged entry is not used, and the values of Secrets are on no disk.
func TestBuildIsKept(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	place := func(name, content string) { extract(t, root, "-- "+name+" --\n"+content) }
	place("a/kustomization.yaml", "resources: [../base]\nnamePrefix: my-\n")
	place("base/kustomization.yaml", "resources: [map.yaml]\n")
	place("base/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {size: \"1\"}}\n")
	views := 0
	build := func(folder string) string {
		t.Helper()
		r := New(root, root, Options{Offline: true, CacheDir: cache})
		views = 0
		objects, err := r.Build(t.Context(), func() source.View { views++; return r.tree.View() }, folder, "")
		if err != nil || len(objects) != 1 {
			t.Fatalf("%d objects, %v", len(objects), err)
		}
		name, _ := objects[0]["metadata"].(map[string]any)["name"].(string)
		size, _ := objects[0]["data"].(map[string]any)["size"].(string)
		return name + " " + size
	}
	entries := func() (all []string) {
		t.Helper()
		err := filepath.WalkDir(cache, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	want("cold", build("a"), "my-settings 1")
	kept := entries()
	if len(kept) != 1 {
		t.Fatalf("kept %q, want one entry", kept)
	}
	whole, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	// What is in the entry is what comes back: nothing is built.
	head, content, ok := sealed(whole)
	if !ok {
		t.Fatal("the entry is not whole")
	}
	marked := bytes.Replace(content, []byte("my-settings"), []byte("my-mark"), 1)
	if err := os.WriteFile(kept[0], seal(head, marked), 0o600); err != nil {
		t.Fatal(err)
	}
	want("warm", build("a"), "my-mark 1")
	if err := os.WriteFile(kept[0], bytes.Replace(whole, []byte("my-settings"), []byte("my-damage"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	want("damaged", build("a"), "my-settings 1")
	place("base/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {size: \"2\"}}\n")
	want("changed", build("a"), "my-settings 2")
	if views != 2 {
		t.Errorf("%d views were made, want one for what was kept and one for the build", views)
	}
	if len(entries()) != 2 {
		t.Errorf("kept %q, want one entry for each state of the files", entries())
	}

	place("s/kustomization.yaml", "secretGenerator: [{name: built, literals: [size="+canary+"]}]\n")
	build("s")
	for _, name := range entries() {
		if data, err := os.ReadFile(name); err != nil || bytes.Contains(data, []byte(canary)) || bytes.Contains(data, []byte("built")) {
			t.Errorf("%s holds the Secret: %v", name, err)
		}
	}
}
