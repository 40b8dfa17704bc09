package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/repo"
)

// TestOrderOfFilesIsOfNoConcern writes the files of scenarios in any order: every
// environment reads the same.
func TestOrderOfFilesIsOfNoConcern(t *testing.T) {
	names := []string{"sets-below-root", "cluster-elements", "chart-parent", "settings", "cluster-folders", "self-managed", "cycle-of-sets", "nested-apps"}
	archives, want := map[string]*txtar.Archive{}, map[string]string{}
	for _, name := range names {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		archives[name], want[name] = archive, describeAll(t, unpack(t, archive))
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "scenario")
		shuffled := &txtar.Archive{Files: rapid.Permutation(archives[name].Files).Draw(rt, "files")}
		if got := describeAll(t, unpack(t, shuffled)); got != want[name] {
			rt.Fatalf("another result:\n%s\nwant:\n%s", got, want[name])
		}
	})
}

func describeAll(t *testing.T, dir string) string {
	t.Helper()
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}()
	all, err := repo.OpenAll(context.Background(), dir, repo.Options{Renderer: renderer})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range all {
		b.WriteString(describe(p))
	}
	return b.String()
}

// TestOpenAllReadsWhatOpenReads compares the environments read together with
// those read one by one.
func TestOpenAllReadsWhatOpenReads(t *testing.T) {
	for _, name := range []string{"cluster-elements", "cluster-folders", "root-chart", "several-environments", "unfilled"} {
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			dir := unpack(t, archive)
			opts := repo.Options{Renderer: renderer}
			all, err := repo.OpenAll(context.Background(), dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			names, err := repo.EnvironmentsOf(context.Background(), dir, opts)
			if err != nil || len(names) != len(all) || len(all) < 2 {
				t.Fatalf("environments %v, read %d: %v", names, len(all), err)
			}
			for i, p := range all {
				if p.Environment != names[i] {
					t.Errorf("environment %d is %s, want %s", i, p.Environment, names[i])
				}
				if one := open(t, dir, p.Environment); one != describe(p) {
					t.Errorf("%s alone:\n%s\ntogether:\n%s", p.Environment, one, describe(p))
				}
			}
		})
	}
}
