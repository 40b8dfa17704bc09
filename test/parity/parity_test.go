package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// explained are the scenarios in which both sides differ, each with its reason. A
// difference that is not here is a mistake of Ladder's until somebody knows better.
var explained = map[string]string{
	"address-called":                          "a folder becomes a repository of its own; here the paths are not at the top",
	"app-two-parents":                         "two parents apply one Application, whose owner is whoever is last",
	"bases-remote-alone":                      "a base is remote, which nothing fetches here; Ladder reads what is beside it, and says so",
	"branches-rendered":                       "the folders are of other revisions, of which the comparison has none; Ladder takes them from there",
	"chart-app-of-app":                        "the chart is not fetched, which Argo CD does; what it makes of its values is known",
	"chart-beside":                            "a dependency is taken from the repository, which Argo CD asks its address for; Ladder says so",
	"pointer-of-generator":                    "Argo CD fetches what Git LFS keeps, which is not at hand here: it generates nothing then, and Ladder says what it does not know",
	"cycle-of-sets":                           "a wave that is no text: the API server refuses the ApplicationSet, and lint says so",
	"crd-cr-without-skip-dry-run-two-parents": "two parents apply one Application, whose owner is whoever is last",
	"folder-copied":                           "a folder becomes a repository of its own; here the paths are not at the top",
	"folder-of-another-name":                  "a folder becomes a repository of its own; here the paths are not at the top",
	"folder-of-its-own":                       "a folder becomes a repository of its own; here the paths are not at the top",
	"given":                                   "ladder.yaml gives the parameters of generators that ask what is outside",
	"nested-apps":                             "a wave that is no text: the API server refuses the Application, and lint says so",
	"nothing-applied":                         "a folder of another revision holds nothing in the checkout, which Argo CD renders as nothing; Ladder says that it is not rendered",
	"prefix-of-another":                       "the repository is a folder of the one that its addresses name; here the paths are not at the top",
	"self-patched":                            "the root is what its own kustomization makes of it as soon as it is applied; Argo CD's side begins with what it was before",
	"sets-overlapping-root":                   "two sets make one Application, whose owner is whoever is first; Argo CD's side takes the first file",
	"submodule":                               "Argo CD fetches submodules, of which none is at hand here",
	"terraform-hub":                           "Terraform sets up two installations of Argo CD; the comparison has one, with the clusters of both",
	"waves-unheeded":                          "a wave that is no text: the API server refuses the Application, and lint says so",
	"wave-not-a-string":                       "the API server refuses the Application, and lint says so",
	"wave-not-a-string-template":              "the API server refuses the ApplicationSet, and lint says so",
}

// bin is where make argocd puts what it builds.
const bin = "../../bin"

// argocds starts Argo CD's side; the test is skipped where it is not built.
func argocds(t *testing.T) *reader {
	t.Helper()
	if testing.Short() {
		t.Skip("charts and kustomizations are rendered by programs")
	}
	for _, name := range []string{"ladder-argocd", "ladder-argocd-helm", "ladder-argocd-read"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Skip("Argo CD's code is not built: make argocd")
		}
	}
	r, err := start(t.Context(), bin, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

func TestMain(m *testing.M) {
	code := m.Run()
	evaluate.Workers.Close()
	os.Exit(code)
}

// An example of Applications is read as Argo CD reads it, to the last object.
func TestExamples(t *testing.T) {
	r, err := compare(t.Context(), "../../examples/zerotouch", t.TempDir(), argocds(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.differences) > 0 || r.applications.equal == 0 || r.objects.equal == 0 {
		t.Errorf("%s", printed(r, "zerotouch"))
	}
}

// So is every scenario that is a repository of Applications.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../../internal/repo/testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	linted, err := filepath.Glob("../scenarios/testdata/*.txtar")
	if err != nil || len(files) == 0 || len(linted) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	argo := argocds(t)
	differ := map[string]bool{}
	var equal int
	for _, file := range slices.Concat(files, linted) {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, dir := range unpack(t, file) {
			r, err := compare(t.Context(), dir, t.TempDir(), argo)
			if len(repo.InputErrors(err)) > 0 {
				continue // nothing that Ladder reads; the scenario says why
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			equal += r.applications.equal
			if len(r.differences) == 0 {
				continue
			}
			differ[name] = true
			if explained[name] == "" {
				t.Errorf("%s", printed(r, dir))
			}
		}
	}
	if equal < 500 {
		t.Errorf("only %d Applications are equal", equal)
	}
	for _, name := range slices.Sorted(maps.Keys(explained)) {
		if !differ[name] {
			t.Errorf("%s has no difference any more; take it from the list", name)
		}
	}
}

func printed(r *report, name string) string {
	var out bytes.Buffer
	r.print(&out, name)
	return out.String()
}

// unpack writes the repositories of a scenario: one, or a bad and a good one with what
// both have.
func unpack(t *testing.T, file string) []string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	var made []string
	for _, variant := range []string{"", "bad/", "good/"} {
		dir := filepath.Join(top, "repository"+strings.TrimSuffix(variant, "/"))
		wrote := false
		for _, f := range archive.Files {
			name, isBoth := strings.CutPrefix(f.Name, "both/")
			own, isOwn := strings.CutPrefix(f.Name, variant)
			switch {
			case variant == "" && (isBoth || strings.HasPrefix(f.Name, "bad/") || strings.HasPrefix(f.Name, "good/")):
				continue
			case variant != "" && isOwn:
				name = own
			case variant != "" && !isBoth, strings.HasPrefix(name, "../"), name == "links", strings.HasPrefix(name, "want"):
				continue
			}
			to := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			wrote = true
		}
		if !wrote {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
		made = append(made, dir)
	}
	return made
}
