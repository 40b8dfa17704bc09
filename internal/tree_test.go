// Package internal holds the order of the folders below it.
package internal

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors are the folders in their order: a package imports only what is in its own
// folder or in one before it.
var floors = []string{
	"core", "testbuild", "schema", "cachedir", "operators", "confine", "repo", "store", "executor", "kube", "argocd", "analysis",
	"plane", "simulate", "worker", "orphans", "diff", "importer", "run", "cli",
}

// exceptions may import the folders that are named too, each for a reason.
var exceptions = map[string][]string{
	// What a worker is asked and answers is of these.
	"confine/evaluate":      {"repo", "kube"},
	"confine/evaluate/wire": {"repo", "kube"},
	// The state of a rollout in a cluster is written under a lease, as everything is.
	"store/incluster": {"kube"},
}

func TestImportsGoOneWay(t *testing.T) {
	const internal = module + "internal/"
	lookAtSources(t)
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, internal+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	used := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from, ok := strings.CutPrefix(words[0], internal)
		if !ok {
			continue // this package
		}
		floor := slices.Index(floors, top(from))
		if floor < 0 {
			t.Errorf("%s has no floor: name its folder in floors, and in CONTRIBUTING.md", from)
		}
		for _, imported := range words[1:] {
			to, ours := strings.CutPrefix(imported, internal)
			if !ours || slices.Index(floors, top(to)) <= floor {
				continue
			}
			if !slices.Contains(exceptions[from], top(to)) {
				t.Errorf("%s imports %s, which stands above it", from, to)
			}
			used[from+" "+top(to)] = true
		}
	}
	for from, folders := range exceptions {
		for _, to := range folders {
			if !used[from+" "+to] {
				t.Errorf("%s does not import %s any more: take the exception away", from, to)
			}
		}
	}
}

// lookAtSources has the result of a test forgotten when a file of the module changes: what
// a program reads that the test starts is not known to "go test".
func lookAtSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(file); ext == ".go" || ext == ".mod" {
			_, err = os.Stat(file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// top is the first folder of a path.
func top(path string) string {
	folder, _, _ := strings.Cut(path, "/")
	return folder
}
