package generate_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// TestRoundTrip makes platforms of descriptors in every spelling, generates them
// in every layout, and reads what was generated as a repository of Argo CD's: the
// components, their order and the steps are those of the plan.
func TestRoundTrip(t *testing.T) {
	kept, refused, listed := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, rt)
		defer w.remove()
		before := w.open(rt, repo.Options{})
		edges := infer.Declared(before.Components)
		planned := planOf(rt, before, edges)
		result, err := generate.Build(context.Background(), generate.Input{
			Platform: before, Plan: planned, RepoURL: "https://git.example.com/acme/platform.git", Image: "ladder:1",
		})
		if err != nil {
			var edge *generate.EdgeError
			if !errors.As(err, &edge) {
				rt.Fatalf("%v\n%s", err, w.files())
			}
			if honourable(before, planned, edge) {
				rt.Fatalf("refused an edge that can be kept: %v", err)
			}
			refused++
			return
		}
		kept++
		for _, warning := range result.Warnings {
			if strings.Contains(warning.Message, "lists its Applications") {
				listed++
			}
		}
		for _, f := range result.Files {
			w.write(path.Join(w.prefix, f.Path), string(f.Content))
		}
		after := w.open(rt, repo.Options{Roots: []string{result.Root}})
		// A root that applies no Applications is one that does its own work.
		components := slices.DeleteFunc(slices.Clone(after.Components), func(c model.Component) bool {
			return len(after.Components) == 1 && c.Name == "platform-"+environmentName
		})
		compareComponents(rt, before, components)
		compareSteps(rt, before, planned, planOf(rt, after, infer.Declared(components)), edges)
		for _, f := range after.Findings {
			if f.Severity == finding.Error {
				rt.Fatalf("what was generated has the finding %s: %s", f.Position, f.Message)
			}
		}
	})
	if kept == 0 || refused == 0 || listed == 0 || listed == kept {
		t.Errorf("%d generated, %d refused, %d lists: the test does not reach everything", kept, refused, listed)
	}
}

func planOf(rt *rapid.T, p *repo.Platform, edges []plan.Edge) *plan.Plan {
	built, err := plan.Build(plan.Input{Environment: p.Environment, Components: p.Components, Ladder: p.Ladder, Edges: edges, Policy: rollout.Phases})
	if err != nil {
		rt.Fatal(err)
	}
	return built
}

// honourable reports whether some order inside the steps keeps an edge: it is not
// against the steps and in no cycle.
func honourable(p *repo.Platform, planned *plan.Plan, e *generate.EdgeError) bool {
	step := map[string]int{}
	for i, s := range planned.Steps {
		for _, name := range s.Components {
			step[name] = i
		}
	}
	if step[e.To] > step[e.From] {
		return false
	}
	for _, c := range planned.Cycles {
		if slices.Contains(c, e.From) && slices.Contains(c, e.To) {
			return false
		}
	}
	// Sync waves that somebody wrote are not counted anew.
	byName := map[string]model.Component{}
	for _, c := range p.Components {
		byName[c.Name] = c
	}
	return len(byName[e.From].Waves) == 0 || step[e.From] != step[e.To]
}

// seen is what a round trip must keep of a component.
type seen struct {
	Name, Project, Namespace, Type, Phase string
	Requires, Validates, SyncOptions      []string
	Sources                               []model.Source
	IgnoreDifferences                     []model.IgnoreDifference
	Retry                                 string
	Timeout                               string
}

func view(c model.Component) seen {
	texts := func(all []model.Requirement) []string {
		var out []string
		for _, r := range all {
			out = append(out, r.Text)
		}
		return out
	}
	s := seen{
		Name: c.Name, Project: c.Project, Namespace: c.Namespace, Type: string(c.Type), Phase: c.Phase.String(),
		Requires: texts(c.Requires), Validates: texts(c.Validates), SyncOptions: slices.Clone(c.SyncOptions),
		IgnoreDifferences: c.IgnoreDifferences, Timeout: c.Timeout.String(),
		Retry: fmt.Sprint(value(c.Retry.Limit), c.Retry.Duration, c.Retry.Factor, c.Retry.MaxDuration),
	}
	for _, source := range c.Sources {
		source.Position = finding.Position{}
		source.ValueFiles = slices.Clone(source.ValueFiles)
		source.Values = plain(source.Values)
		for i := range source.ValueFiles {
			source.ValueFiles[i].Position = finding.Position{}
			source.ValueFiles[i].Optional = false
			// A file that is not there is named as Git sources see it.
			source.ValueFiles[i].Path = strings.TrimPrefix(source.ValueFiles[i].Path, below+"/")
		}
		s.Sources = append(s.Sources, source)
	}
	return s
}

// plain has one type for numbers, whoever read them.
func plain(values map[string]any) map[string]any {
	text, err := json.Marshal(values)
	if err != nil {
		return values
	}
	var out map[string]any
	if json.Unmarshal(text, &out) != nil {
		return values
	}
	return out
}

func value(n *int) int {
	if n == nil {
		return -99
	}
	return *n
}

// expected is what a descriptor asks of its Application.
func expected(p *repo.Platform, c model.Component) seen {
	s := view(c)
	if _, written := c.Fields["project"]; !written {
		s.Project = c.Domain
	}
	var options []string
	for _, o := range s.SyncOptions {
		if !slices.Contains(options, o) {
			options = append(options, o)
		}
	}
	needs := map[model.Type][]string{model.CRDs: {"ServerSideApply", "PruneLast"}, model.Namespaces: {"PruneLast"}}[c.Type]
	if len(c.IgnoreDifferences) > 0 {
		needs = append([]string{"RespectIgnoreDifferences"}, needs...)
	}
	for _, need := range needs {
		if !slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, need+"=") }) {
			options = append(options, need+"=true")
		}
	}
	s.SyncOptions = options
	for i := range s.Sources {
		src := &s.Sources[i]
		if src.Kind == model.Manifests && path.Ext(src.Path) == ".yaml" {
			src.Path, src.Include = path.Dir(src.Path), path.Base(src.Path)
		}
	}
	if len(c.Smoke) > 0 {
		s.Sources = append(s.Sources, model.Source{Kind: model.Manifests, Path: path.Join(ladderfile.Folder(p.ArgoCD.Out, p.Environment), "smokes", c.Name)})
	}
	own, base := c.Retry, p.Ladder.Retry
	limit := base.Limit
	if own.Limit != nil {
		limit = own.Limit
	}
	s.Retry = fmt.Sprint(value(limit), cmp.Or(own.Duration, base.Duration), cmp.Or(own.Factor, base.Factor), cmp.Or(own.MaxDuration, base.MaxDuration))
	return s
}

func compareComponents(rt *rapid.T, before *repo.Platform, after []model.Component) {
	var want, got []seen
	for _, c := range before.Components {
		if c.Enabled {
			s := expected(before, c)
			if before.Ladder.Layout == plan.AppOfApps {
				s.Phase = ""
			}
			want = append(want, s)
		}
	}
	for _, c := range after {
		s := view(c)
		if before.Ladder.Layout == plan.AppOfApps {
			s.Phase = ""
		}
		got = append(got, s)
	}
	byName := func(a, b seen) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatal(diff)
	}
}

// compareSteps compares the steps that have components. Sync waves have no
// maxUpdate, and a step with an order inside is several of them.
func compareSteps(rt *rapid.T, before *repo.Platform, want, got *plan.Plan, edges []plan.Edge) {
	type step struct {
		MaxUpdate  string
		Components []string
	}
	steps := func(p *plan.Plan, without string) []step {
		var out []step
		for _, s := range p.Steps {
			names := slices.DeleteFunc(slices.Clone(s.Components), func(name string) bool { return name == without })
			slices.Sort(names)
			if len(names) > 0 {
				out = append(out, step{s.MaxUpdate, names})
			}
		}
		return out
	}
	root := "platform-" + before.Environment
	if before.Ladder.Layout != plan.AppOfApps {
		if diff := gocmp.Diff(steps(want, ""), steps(got, root)); diff != "" {
			rt.Fatal(diff)
		}
		return
	}
	place := map[string]int{}
	for i, s := range steps(got, root) {
		for _, name := range s.Components {
			place[name] = i
		}
	}
	last := -1
	for _, s := range steps(want, "") {
		least, most := len(place), -1
		for _, name := range s.Components {
			least, most = min(least, place[name]), max(most, place[name])
		}
		if least <= last {
			rt.Fatalf("the step of %v does not come after the one before", s.Components)
		}
		last = most
	}
	for _, e := range edges {
		from, known := place[e.From]
		to, also := place[e.To]
		if known && also && to >= from {
			rt.Fatalf("%s is not after %s", e.From, e.To)
		}
	}
}

// world is a random platform on the disk.
type world struct {
	t      *testing.T
	top    string
	prefix string
}

func (w *world) remove() {
	if err := os.RemoveAll(w.top); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(file, content string) {
	to := filepath.Join(w.top, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) yaml(file string, content any) {
	text, err := yaml.Marshal(content)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(file, string(text))
}

func (w *world) open(rt *rapid.T, o repo.Options) *repo.Platform {
	p, err := repo.Open(context.Background(), filepath.Join(w.top, w.prefix), o)
	if err != nil {
		rt.Fatalf("%v\n%s", err, w.files())
	}
	return p
}

// files are the descriptors, for a failure.
func (w *world) files() string {
	var b strings.Builder
	err := filepath.WalkDir(w.top, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "component") && d.Name() != "ladder.yaml" {
			return err
		}
		text, err := os.ReadFile(file)
		fmt.Fprintf(&b, "--- %s\n%s", file, text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

const (
	environmentName = "dev"
	// below is a platform that is a part of its repository.
	below = "clusters/platform"
)

func newWorld(t *testing.T, rt *rapid.T) *world {
	dir, err := os.MkdirTemp("", "ladder-generate-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, top: dir, prefix: rapid.SampledFrom([]string{".", below}).Draw(rt, "prefix")}
	w.write(".git/HEAD", "ref: refs/heads/main\n")
	layout := rapid.SampledFrom([]string{"single", "tiers", "app-of-apps"}).Draw(rt, "layout")
	ladder, phases := drawLadder(rt, layout)
	w.yaml(path.Join(w.prefix, "ladder.yaml"), ladder)
	// One spelling for most of a platform, so that both forms of the set appear.
	older := rapid.Bool().Draw(rt, "older")
	odd := rapid.IntRange(0, 3).Draw(rt, "odd") == 0
	folders := rapid.Bool().Draw(rt, "folders")
	waves := layout == "app-of-apps" && rapid.Bool().Draw(rt, "waves")
	var earlier []drawn
	for i := range rapid.IntRange(1, 8).Draw(rt, "components") {
		d := drawComponent(rt, i, drawing{phases: phases, older: older, folders: folders, odd: odd, waves: waves, earlier: earlier})
		earlier = append(earlier, d)
		file := "component.yaml"
		if d.disabledByName {
			file = "component.disabled.yaml"
		}
		w.yaml(path.Join(w.prefix, "environments", environmentName, "components", d.domain, d.name, file), d.content)
	}
	for _, file := range []string{
		"sources/charts/web/Chart.yaml", "sources/charts/web/values-dev.yaml", "sources/values/a.yaml", "sources/values/b.yaml",
		"sources/kustomize/dev/kustomization.yaml", "sources/manifests/one.yaml", "sources/manifests/two.yaml",
	} {
		content := "{}\n"
		if path.Base(file) == "Chart.yaml" {
			content = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
		}
		w.write(path.Join(w.prefix, file), content)
	}
	return w
}
