package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpToDate generates the data again where its input is at hand: LADDER_CRDS
// names a folder of CRDs, beside which the facts are in cases; otherwise it is
// looked for next to the repository.
func TestUpToDate(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	crds := os.Getenv("LADDER_CRDS")
	if crds == "" {
		crds = filepath.Join(filepath.Dir(root), "shared", "crds")
	}
	facts := filepath.Join(filepath.Dir(crds), "cases", "catalogue-facts.yaml")
	for _, input := range []string{crds, facts} {
		if _, err := os.Stat(input); errors.Is(err, fs.ErrNotExist) {
			t.Skip("the CRDs and facts are not here; LADDER_CRDS names them")
		}
	}
	want, err := generate(facts, crds)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("..", "data", "generated")
	have := map[string][]byte{}
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "olm" {
			return fs.SkipDir // from other input
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		have[filepath.ToSlash(rel)], err = os.ReadFile(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		if string(have[name]) != string(want[name]) {
			t.Errorf("%s is not up to date; run go run ./internal/analysis/catalogue/generate (-file +generated):\n%s", name, cmp.Diff(string(have[name]), string(want[name])))
		}
	}
	for name := range have {
		if want[name] == nil {
			t.Errorf("%s is not generated any more", name)
		}
	}
}

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]
`

// TestGenerate reads facts as they are written for people.
func TestGenerate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("crds/things/SOURCE", "repository: https://github.com/example/things\ntag: v1.2.3\ncommit: 0123456789abcdef\npaths:\n  - a/b/things.yaml\n  - a/c/others.yaml\nnote: seen: once\n")
	write("crds/things/things.yaml", crd)
	fact := func(name, crds string) string {
		return "- chart: [" + name + "]\n  repositories: ['https://charts.example.com']\n  version read: 1.0\n  source: [example/things@0123456789ab:chart]\n" +
			"  crds: '" + crds + "'\n  crd_folder: things\n  groups: {example.com: [Thing]}\n"
	}
	write("cases/facts.yaml", fact("folder", "crds/ folder")+fact("gated", "templates gated by crds.create (default true)")+
		fact("closed", "templates gated by crds.enabled (default false; installCRDs is honoured too)")+fact("unclear", "templates gated by something")+
		fact("elsewhere", "separate chart things-crds")+fact("'(none: manifests) things'", "crds/ folder"))
	files, err := generate(filepath.Join(dir, "cases", "facts.yaml"), filepath.Join(dir, "crds"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, text := range files {
		if i := strings.Index(string(text), "crds:\n"); i >= 0 {
			part, _, _ := strings.Cut(string(text)[i:], "repositories:")
			got[name] = strings.Join(strings.Fields(part), " ")
		} else {
			got[name] = ""
		}
	}
	want := map[string]string{
		"crds/things.yaml":      "crds: - things.example.com Thing cluster v1 set: things source: - example/things@0123456789ab:a version: v1.2.3",
		"charts/folder.yaml":    "crds: - folder: true set: things",
		"charts/gated.yaml":     "crds: - set: things when: default: true value: crds.create",
		"charts/closed.yaml":    "crds: - set: things when: any: - default: false value: crds.enabled - value: installCRDs",
		"charts/unclear.yaml":   "",
		"charts/elsewhere.yaml": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
