package repo_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/render"
)

var update = flag.Bool("update", false, "rewrite the expected results of the scenarios")

// TestScenarios opens the platforms of testdata/*.txtar. A section "want" is
// what opening without a name gives, "want ENV" what opening an environment
// gives; "links" are symbolic links, one "name -> target" per line. The other
// sections are the files; names that start with ../ lie outside the
// repository.
func TestScenarios(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range scenarios {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := unpack(t, archive)
			wants := 0
			for i, section := range archive.Files {
				if section.Name != "want" && !strings.HasPrefix(section.Name, "want ") {
					continue
				}
				wants++
				environment := strings.TrimPrefix(strings.TrimPrefix(section.Name, "want"), " ")
				got := open(t, dir, environment)
				if again := open(t, dir, environment); again != got {
					t.Errorf("opening twice gives different results:\n%s", cmp.Diff(got, again))
				}
				if *update {
					archive.Files[i].Data = []byte(got)
					continue
				}
				if diff := cmp.Diff(string(section.Data), got); diff != "" {
					t.Errorf("%s:\n%s", section.Name, diff)
				}
			}
			if wants == 0 {
				t.Error("the scenario expects nothing")
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// unpack writes the files of a scenario and returns the repository.
func unpack(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository")
	if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if f.Name == "want" || strings.HasPrefix(f.Name, "want ") {
			continue
		}
		if f.Name == "links" {
			for line := range strings.Lines(string(f.Data)) {
				name, target, ok := strings.Cut(strings.TrimSpace(line), " -> ")
				if !ok {
					t.Fatalf("link %q", line)
				}
				link := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(target, link); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// renderer renders charts of the repository, without network.
func renderer(root, repository string) repo.Renderer {
	return render.New(root, repository, render.Options{Offline: true, Partial: true, NoCache: true})
}

func open(t *testing.T, dir, environment string) string {
	t.Helper()
	p, err := repo.Open(context.Background(), dir, repo.Options{Environment: environment, Renderer: renderer})
	if err != nil {
		input := repo.InputErrors(err)
		if len(input) == 0 {
			t.Fatalf("not an InputError: %v", err)
		}
		var b strings.Builder
		for _, e := range input {
			fmt.Fprintf(&b, "refused %s\n", strings.ReplaceAll(e.Error(), dir, "DIR"))
		}
		return b.String()
	}
	return describe(p)
}

// describe prints what matters of a platform, a line per thing.
func describe(p *repo.Platform) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "environment %s, layout %s\n", p.Environment, p.Ladder.Layout)
	for _, s := range p.Ladder.Steps {
		max := fmt.Sprint(s.MaxUpdate.Count)
		if s.MaxUpdate.Percent {
			max += "%"
		}
		fmt.Fprintf(&b, "step %v max %s", s.Phases, max)
		if s.Set != "" {
			fmt.Fprintf(&b, " tier %s", s.Set)
		}
		if s.Gate != "" {
			fmt.Fprintf(&b, " gate %q", s.Gate)
		}
		fmt.Fprintln(&b)
	}
	for _, c := range p.Components {
		describeComponent(&b, c)
	}
	for _, file := range p.Simulation.RuleFiles {
		fmt.Fprintf(&b, "rules %s\n", file)
	}
	describeArgo(&b, p.Argo)
	for _, f := range p.Findings {
		fmt.Fprintf(&b, "%s %s %s: %s\n", f.Severity, f.Rule, f.Position, f.Message)
	}
	return b.String()
}

// describeArgo prints what is more than the components tell.
func describeArgo(b *bytes.Buffer, s argo.Setup) {
	for _, a := range s.ApplicationSets {
		fmt.Fprintf(b, "set %s parent=%s wave=%d at %s template=%s stamps=%q generates %s\n",
			a.Name, a.Parent, a.Wave.Value, a.Position, a.Template, a.TemplateWave.Written, strings.Join(a.Applications, " ")+map[bool]string{true: " and more"}[a.Unread])
		for i, step := range a.Steps {
			fmt.Fprintf(b, "  step %d %v max=%s at %s\n", i+1, step.MatchExpressions, step.MaxUpdate, step.Position)
		}
	}
	for _, a := range s.Applications {
		if a.DependsOn.File != "" {
			fmt.Fprintf(b, "application %s depends on something at %s\n", a.Name, a.DependsOn)
		}
	}
	for _, p := range s.Projects {
		fmt.Fprintf(b, "project %s repos=%v destinations=%v allow=%v/%v deny=%v/%v at %s\n",
			p.Name, p.SourceRepos, p.Destinations, p.ClusterAllow, p.NamespaceAllow, p.ClusterDeny, p.NamespaceDeny, p.Position)
	}
	if s.Settings.Known {
		fmt.Fprintf(b, "settings health=%v at %s\n", s.Settings.Health, s.Settings.Position)
	}
	for _, m := range s.Misplaced {
		fmt.Fprintf(b, "misplaced wave of %s component=%s template=%v at %s\n", m.Object.Human(), m.Component, m.Template, m.Position)
	}
}

func describeComponent(b *bytes.Buffer, c model.Component) {
	fmt.Fprintf(b, "component [%s] %s %s domain=%s project=%s namespace=%s", c.Order(), c.Name, c.Type, c.Domain, c.Project, c.Namespace)
	if c.Cluster != "" {
		fmt.Fprintf(b, " cluster=%s", c.Cluster)
	}
	if !c.Enabled {
		fmt.Fprint(b, " disabled")
	}
	if c.Set != "" {
		fmt.Fprintf(b, " set=%s step=%d phase=%s", c.Set, c.Step, c.Phase)
	}
	if len(c.Parents) > 1 {
		fmt.Fprintf(b, " parents=%s", strings.Join(c.Parents, ","))
	}
	fmt.Fprintf(b, " at %s\n", c.Position)
	for _, r := range c.Requires {
		fmt.Fprintf(b, "  requires %s at %s\n", r.Text, r.Position)
	}
	for _, r := range c.Validates {
		fmt.Fprintf(b, "  validates %s at %s\n", r.Text, r.Position)
	}
	for _, s := range c.Sources {
		fmt.Fprintf(b, "  %s %s%s", s.Kind, s.Path, strings.TrimSpace(s.RepoURL+" "+s.Name+" "+s.Version))
		if s.Kind == model.Chart {
			fmt.Fprintf(b, " release %s", s.ReleaseName)
		}
		if s.SkipCRDs {
			fmt.Fprint(b, " without CRDs")
		}
		if s.Recurse {
			fmt.Fprint(b, " recursive")
		}
		if s.Include+s.Exclude != "" {
			fmt.Fprintf(b, " include=%s exclude=%s", s.Include, s.Exclude)
		}
		if s.Jsonnet != nil {
			fmt.Fprintf(b, " jsonnet %+v", *s.Jsonnet)
		}
		if s.Refused != "" {
			fmt.Fprintf(b, " refused: %s", s.Refused)
		}
		if s.Incomplete != "" {
			fmt.Fprintf(b, " incomplete: %s", s.Incomplete)
		}
		if s.Kustomize != nil {
			fmt.Fprintf(b, " with %+v", *s.Kustomize)
		}
		fmt.Fprintf(b, " at %s\n", s.Position)
		for _, f := range s.ValueFiles {
			fmt.Fprintf(b, "    values %s", f.Path)
			if f.Optional {
				fmt.Fprint(b, " (optional)")
			}
			fmt.Fprintf(b, " at %s\n", f.Position)
		}
		if len(s.Values) > 0 {
			fmt.Fprintf(b, "    inline %v\n", s.Values)
		}
		if len(s.Parameters) > 0 {
			fmt.Fprintf(b, "    parameters %v\n", s.Parameters)
		}
		if len(s.StringParameters)+len(s.FileParameters) > 0 {
			fmt.Fprintf(b, "    string parameters %v file parameters %v\n", s.StringParameters, s.FileParameters)
		}
	}
	if len(c.SyncOptions) > 0 {
		fmt.Fprintf(b, "  sync options %s\n", strings.Join(c.SyncOptions, " "))
	}
	if len(c.NamespaceLabels)+len(c.NamespaceAnnotations) > 0 {
		fmt.Fprintf(b, "  namespace labels=%v annotations=%v\n", c.NamespaceLabels, c.NamespaceAnnotations)
	}
	if c.Retry.Limit != nil {
		fmt.Fprintf(b, "  retries %d, the first one after %s\n", *c.Retry.Limit, c.Retry.Duration)
	}
	for _, d := range c.IgnoreDifferences {
		fmt.Fprintf(b, "  ignores %s %s %v\n", d.Kind, d.Name, slices.Concat(d.JSONPointers, d.JQPathExpressions, d.ManagedFieldsManagers))
	}
	for _, check := range c.Smoke {
		fmt.Fprintf(b, "  smoke %s at %s\n", check, check.Position)
	}
	unknown := make([]string, 0, len(c.Unknown))
	for key, value := range c.Unknown {
		unknown = append(unknown, fmt.Sprintf("  keeps %s %v\n", key, value))
	}
	slices.Sort(unknown)
	fmt.Fprint(b, strings.Join(unknown, ""))
}
