package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// elsewhere are the rules that judge no order: the tests of reading and of the
// command have them.
var elsewhere = []string{
	lint.RuleParity, lint.RuleUnusedSuppression, lint.RuleFileMissing, lint.RuleRenderFailed,
	"assumed", "invalid-field", "not-read", "unknown-field", "parent-at-once", "several-clusters", "sync-option",
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := stated(archive, "want ")
			if len(want)+len(stated(archive, "missed ")) == 0 {
				t.Fatal("the scenario wants nothing")
			}
			if diff := gocmp.Diff(want, found(t, archive, "bad")); diff != "" {
				t.Errorf("bad (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(stated(archive, "still "), found(t, archive, "good")); diff != "" {
				t.Errorf("good (-want +got):\n%s", diff)
			}
		})
	}
}

// Every rule has a scenario with a mistake that it finds.
func TestEveryRuleHasAScenario(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range stated(archive, "want ") {
			covered[strings.Fields(line)[1]] = true
		}
	}
	for _, r := range lint.All() {
		if !covered[r.ID] && !slices.Contains(elsewhere, r.ID) {
			t.Errorf("no scenario wants a finding of %s", r.ID)
		}
	}
}

// TestEveryCaseHasAScenario: of every mistake of a public repository there is a
// scenario, also of those that are not found, which say so.
func TestEveryCaseHasAScenario(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "evaluate", "cases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Repository, Bad, Class, Scenario string }
	if err := yaml.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		archive, err := txtar.ParseFile(filepath.Join("testdata", c.Scenario+".txtar"))
		if err != nil {
			t.Errorf("%s %.8s has no scenario: %v", c.Repository, c.Bad, err)
			continue
		}
		if c.Class == "N" && len(stated(archive, "missed ")) == 0 {
			t.Errorf("%s %.8s is not visible in the files, and its scenario does not say that it is missed", c.Repository, c.Bad)
		}
	}
}

// stated lists the lines of the comment that begin with a word, sorted.
func stated(archive *txtar.Archive, word string) []string {
	lines := []string{}
	for line := range strings.Lines(string(archive.Comment)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word); ok {
			lines = append(lines, rest)
		}
	}
	slices.Sort(lines)
	return lines
}

// found lints one of the two repositories and prints its findings, sorted.
func found(t *testing.T, archive *txtar.Archive, side string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range archive.Files {
		top, name, _ := strings.Cut(f.Name, "/")
		if top != side && top != "both" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := analysis.LoadAll(context.Background(), dir, analysis.Options{Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]lint.Rule{}
	for _, r := range lint.All() {
		rules[r.ID] = r
	}
	lines := []string{}
	for _, environment := range all {
		for _, f := range lint.Run(environment.Lint(), lint.Options{}) {
			lines = append(lines, line(f))
			if r := rules[f.Rule]; f.Severity.Rank() < r.Severity.Rank() && f.Severity != r.Gravest {
				t.Errorf("%s: a finding of %s is graver than its page says: %s", side, f.Rule, f.Severity)
			}
			if f.Message == "" || f.Position.File == "" {
				t.Errorf("%s: a finding of %s at %q says %q", side, f.Rule, f.Position, f.Message)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func line(f finding.Finding) string {
	resource := "-"
	if f.Resource.Kind != "" {
		resource = f.Resource.Human()
	}
	return fmt.Sprintf("%s %s %s %s %s", f.Severity, f.Rule, cmp.Or(f.Component, "-"), cmp.Or(f.Provider, "-"), resource)
}
