package generate_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden generates the platform of each archive below testdata. What begins
// with "want/" is expected; warnings or the error are in want/said.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			want := map[string]string{}
			var given []txtar.File
			for _, f := range archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
					want[name] = string(f.Data)
					continue
				}
				given = append(given, f)
				to := filepath.Join(dir, filepath.FromSlash(f.Name))
				if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(to, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := generated(t, filepath.Join(dir, "repository", "platform"))
			if *update {
				archive.Files = given
				for _, name := range sortedNames(got) {
					archive.Files = append(archive.Files, txtar.File{Name: "want/" + name, Data: []byte(got[name])})
				}
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("run the test with -update and look at the difference:\n%s", diff)
			}
		})
	}
}

func sortedNames(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// generated are the files of a platform, by path, and what was said.
func generated(t *testing.T, platform string) map[string]string {
	t.Helper()
	loaded, err := analysis.Load(context.Background(), platform, analysis.Options{Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	planned, err := plan.Build(session.PlanInput(loaded, rollout.Phases, nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	planned.Edges = loaded.PreciseEdges(planned.Edges)
	said := ""
	r, err := generate.Build(context.Background(), generate.Input{
		Platform: loaded.Platform, Components: loaded.Typed(), Plan: planned, Objects: loaded.Objects, Image: "registry.example.com/ladder:1",
	})
	if err != nil {
		return map[string]string{"said": err.Error() + "\n"}
	}
	got := map[string]string{}
	for _, w := range r.Warnings {
		said += fmt.Sprintln(w)
	}
	if said != "" {
		got["said"] = said
	}
	for _, f := range r.Files {
		got[f.Path] = string(f.Content)
	}
	return got
}
