package generate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// platform is one of components "name phase domain", with edges "from>to"
// (declared), "from!to" (hard) and "from~to" (soft).
type platform struct {
	layout     plan.Layout
	ladder     string
	components string
	edges      string
}

func (p platform) build(t *testing.T) (*generate.Result, error) {
	t.Helper()
	file, err := ladderfile.Parse("ladder.yaml", []byte(p.ladder))
	if err != nil || len(file.Findings) > 0 {
		t.Fatal(err, file.Findings)
	}
	in := &repo.Platform{Root: "/platform", Repository: "/platform", Environment: "dev", Ladder: file.Ladder, ArgoCD: file.ArgoCD, Lint: file.Lint}
	if p.layout != "" {
		in.Ladder.Layout = p.layout
	}
	for i, line := range strings.Split(p.components, ";") {
		fields := strings.Fields(line)
		c := model.Component{
			Name: fields[0], Environment: "dev", Phase: model.NoPhase, Domain: fields[2], Type: model.Runtime, Enabled: true,
			Sources:  []model.Source{{Kind: model.Manifests, Path: fields[0]}},
			Position: finding.Position{File: "components.yaml", Line: i + 1}, Fields: map[string]finding.Position{},
		}
		if wave, ok := strings.CutPrefix(fields[1], "w"); ok {
			var n int
			if _, err := fmt.Sscan(wave, &n); err != nil {
				t.Fatal(err)
			}
			c.Waves = []int{n}
		} else if fields[1] != "-" {
			if c.Phase, err = model.ParsePhase(fields[1]); err != nil {
				t.Fatal(err)
			}
		}
		in.Components = append(in.Components, c)
	}
	if len(in.Ladder.Steps) == 0 {
		in.Ladder.Steps = ladderfile.DeriveSteps(in.Ladder, in.Components)
	}
	var edges []plan.Edge
	for i, text := range strings.Fields(p.edges) {
		e := plan.Edge{Strength: plan.Hard, Basis: finding.Declared, Reason: "requires", Evidence: []finding.Evidence{{File: "edges.yaml", Line: i + 1}}}
		var ok bool
		if e.From, e.To, ok = strings.Cut(text, ">"); !ok {
			if e.From, e.To, ok = strings.Cut(text, "!"); ok {
				e.Basis, e.Reason = finding.Rendered, "reads"
			} else {
				e.From, e.To, _ = strings.Cut(text, "~")
				e.Strength, e.Basis, e.Reason = plan.Soft, finding.Rendered, "calls"
			}
		}
		edges = append(edges, e)
	}
	planned, err := plan.Build(plan.Input{Environment: "dev", Components: in.Components, Ladder: in.Ladder, Edges: edges, Policy: rollout.Phases})
	if err != nil {
		t.Fatal(err)
	}
	return generate.Build(context.Background(), generate.Input{Platform: in, Plan: planned, RepoURL: "https://git.example.com/a.git", Image: "ladder:1"})
}

// steps are those of the ApplicationSets with the Applications that match, in the
// order of the files; for Applications alone, their sync waves.
func steps(t *testing.T, r *generate.Result) []string {
	t.Helper()
	var out, waves []string
	for _, f := range r.Files {
		var set generate.ApplicationSet
		if err := yaml.Unmarshal(f.Content, &set); err != nil {
			continue // several documents
		}
		if set.Kind == "Application" && !strings.HasSuffix(f.Path, generate.RootFile) {
			waves = append(waves, fmt.Sprintf("%s %s", set.Metadata.Annotations["argocd.argoproj.io/sync-wave"], set.Metadata.Name))
		}
		if set.Kind != "ApplicationSet" {
			continue
		}
		for _, s := range set.Spec.Strategy.RollingSync.Steps {
			var names []string
			for _, e := range set.Spec.Generators[0].List.Elements {
				matches := true
				for _, m := range s.MatchExpressions {
					matches = matches && slices.Contains(m.Values, e.Labels[m.Key])
				}
				if matches {
					names = append(names, e.Name)
				}
			}
			out = append(out, fmt.Sprint(s.MaxUpdate, " ", strings.Join(names, " ")))
		}
	}
	if len(out) == 0 {
		return waves
	}
	return out
}

const twoSteps = `steps: [{phases: ["110"], maxUpdate: 2}, {phases: ["150"], maxUpdate: 2}]`

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		platform
		want []string
		said string // part of a warning
	}{
		"edges along the steps": {
			platform: platform{ladder: twoSteps, components: "a 110 x; b 150 x", edges: "b>a"},
			want:     []string{"2 a", "2 b"},
		},
		"a hard edge inside a step parts it": {
			platform: platform{ladder: twoSteps, components: "a 110 x; b 150 x; c 150 x; d 150 x", edges: "d>c c~b"},
			want:     []string{"2 a", "2 b", "2 c", "2 d"}, said: "it is generated as 3 RollingSync steps",
		},
		"one that leaves a place free keeps soft edges to retries": {
			platform: platform{ladder: twoSteps, components: "b 150 x; c 150 x; d 150 x", edges: "c~b"},
			want:     []string{"2 ", "2 b c d"}, said: "c requires b (calls) inside the step 150, where nothing orders the two: it is left to retries",
		},
		"soft edges that could use up maxUpdate part the step": {
			platform: platform{ladder: twoSteps, components: "b 150 x; c 150 x; d 150 x", edges: "c~b d~b"},
			want:     []string{"2 ", "2 b", "2 c d"}, said: "where maxUpdate 2 could be used up by those that wait",
		},
		"a step that holds all at once leaves soft edges": {
			platform: platform{ladder: twoSteps, components: "b 150 x; c 150 x", edges: "c~b"},
			want:     []string{"2 ", "2 b c"}, said: "it is left to retries",
		},
		"a soft edge against the steps is said": {
			platform: platform{ladder: twoSteps, components: "a 110 x; b 150 x", edges: "a~b"},
			want:     []string{"2 a", "2 b"}, said: "edges.yaml:1: a requires b (calls), but the step 150 starts only when the step 110 is Healthy: it is left to retries",
		},
		"bands are the tiers of a ladder without": {
			platform: platform{layout: plan.Tiers, ladder: `steps: [{phases: ["210"]}, {phases: ["110"]}, {phases: ["150"]}]
bands: [{name: data, from: 200, to: 299}, {name: web, from: 100, to: 199}]`, components: "a 110 x; b 210 x; c 150 x", edges: "a>b"},
			want: []string{"3 b", "3 a", "6 c"},
		},
		"waves from phases": {
			platform: platform{layout: plan.AppOfApps, ladder: twoSteps, components: "a 110 x; b 150 x; c 150 x", edges: "b>a"},
			want:     []string{"110 a", "150 b", "150 c"},
		},
		"waves from phases with an order inside are counted": {
			platform: platform{layout: plan.AppOfApps, ladder: twoSteps, components: "a 110 x; b 150 x; c 150 x", edges: "b>c"},
			want:     []string{"1 a", "3 b", "2 c"}, said: "which Argo CD applies together: it is generated as 2 sync waves",
		},
		"waves that are written": {
			platform: platform{layout: plan.AppOfApps, components: "a w-3 x; b w20 x; c w20 x", edges: "b>a b~c"},
			want:     []string{"-3 a", "20 b", "20 c"}, said: "inside the sync wave 20, where nothing orders the two",
		},
		"waves from edges": {
			platform: platform{layout: plan.AppOfApps, components: "a - x; b - x; c - x; d - x", edges: "a>b b~c"},
			want:     []string{"3 a", "2 b", "1 c", "1 d"}, said: "which nothing else orders: it is generated as 3 sync waves",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := test.build(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, steps(t, r)); diff != "" {
				t.Error(diff)
			}
			var said []string
			for _, w := range r.Warnings {
				if strings.Contains(w.Message, "lists its Applications") || strings.Contains(w.Message, "AppProject") {
					continue
				}
				said = append(said, w.String())
			}
			if test.said == "" && len(said) > 0 || !strings.Contains(strings.Join(said, "\n"), test.said) {
				t.Errorf("said %q, want %q", said, test.said)
			}
		})
	}
}

func TestRefusedEdges(t *testing.T) {
	for name, test := range map[string]struct {
		platform
		want []generate.EdgeError
	}{
		"against the steps": {
			platform{ladder: twoSteps, components: "a 110 x; b 150 x", edges: "b>a a>b"},
			[]generate.EdgeError{{From: "a", To: "b", Reason: "they require each other: a -> b -> a"}},
		},
		"several": {
			platform{ladder: twoSteps, components: "a 110 x; b 110 x; c 150 x", edges: "a>c b>c"},
			[]generate.EdgeError{
				{From: "a", To: "c", Reason: "the step 150 starts only when the step 110 is Healthy", Position: finding.Position{File: "edges.yaml", Line: 1}},
				{From: "b", To: "c", Reason: "the step 150 starts only when the step 110 is Healthy", Position: finding.Position{File: "edges.yaml", Line: 2}},
			},
		},
		"a cycle inside a step": {
			platform{ladder: twoSteps, components: "a 150 x; b 150 x; c 150 x", edges: "a>b b>c c>a"},
			[]generate.EdgeError{{From: "a", To: "b", Reason: "they require each other: a -> b -> c -> a", Position: finding.Position{File: "edges.yaml", Line: 1}}},
		},
		"against the tiers": {
			platform{ladder: "tiers: [x, y]\nsteps: [{tier: x, phases: [\"150\"]}, {tier: y, phases: [\"110\"]}]", components: "a 110 y; b 150 x", edges: "b>a"},
			[]generate.EdgeError{{From: "b", To: "a", Reason: "the tier y starts only when the tier x is Healthy", Position: finding.Position{File: "edges.yaml", Line: 1}}},
		},
		"inside a written wave": {
			platform{layout: plan.AppOfApps, components: "a w3 x; b w3 x", edges: "b>a"},
			[]generate.EdgeError{{From: "b", To: "a", Reason: "both have the sync wave 3, in which Argo CD applies them together; give b a later one", Position: finding.Position{File: "edges.yaml", Line: 1}}},
		},
		"against written waves": {
			platform{layout: plan.AppOfApps, components: "a w-1 x; b w2 x", edges: "a>b"},
			[]generate.EdgeError{{From: "a", To: "b", Reason: "the sync wave 2 starts only when the sync wave -1 is Healthy", Position: finding.Position{File: "edges.yaml", Line: 1}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test.build(t)
			var got []generate.EdgeError
			for _, one := range joined(err) {
				var e *generate.EdgeError
				if !errors.As(one, &e) {
					t.Fatal(one)
				}
				if e.Layout == "" {
					t.Error("no layout")
				}
				if strings.HasPrefix(e.Reason, "they require each other: a -> b -> a") {
					e.Position = finding.Position{}
				}
				e.Layout = ""
				got = append(got, *e)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSuppressedEdges are inferred ones that somebody gave a reason not to believe.
func TestSuppressedEdges(t *testing.T) {
	in := platform{ladder: twoSteps, components: "a 110 x; b 150 x", edges: "a!b"}
	_, err := in.build(t)
	want := "edges.yaml:1: the layout single cannot honour that a requires b: the step 150 starts only when the step 110 is Healthy (it reads; where that is wrong, say why in lint.suppress)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	in.ladder += "\nlint: {suppress: [{rule: secret-before-use, component: a, reason: It waits.}]}"
	r, err := in.build(t)
	if err != nil {
		t.Fatal(err)
	}
	if said := fmt.Sprint(r.Warnings); !strings.Contains(said, "a requires b (reads), but the step 150 starts only when the step 110 is Healthy: it is suppressed: It waits.") {
		t.Error(said)
	}
	in.edges = "a>b"
	if _, err := in.build(t); err == nil {
		t.Error("a declared edge is not believed")
	}
}

// TestLongLists are applied server-side, up to what an API server stores.
func TestLongLists(t *testing.T) {
	components := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("c%05d 110 x", i))
		}
		return strings.Join(all, ";")
	}
	for n, want := range map[int]string{10: "", 800: "ServerSideApply=true"} {
		r, err := platform{ladder: twoSteps, components: components(n)}.build(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Files {
			var set generate.ApplicationSet
			if strings.HasSuffix(f.Path, "applicationset.yaml") {
				if err := yaml.Unmarshal(f.Content, &set); err != nil {
					t.Fatal(err)
				}
				if got := set.Metadata.Annotations["argocd.argoproj.io/sync-options"]; got != want {
					t.Errorf("%d: %q, want %q", n, got, want)
				}
			}
		}
	}
	if _, err := (platform{ladder: twoSteps, components: components(4000)}).build(t); err == nil || !strings.Contains(err.Error(), "more than an API server stores") {
		t.Errorf("got %v", err)
	}
}

func joined(err error) []error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func TestRefusedLayouts(t *testing.T) {
	for name, test := range map[string]struct {
		platform
		want string
	}{
		"no phase":           {platform{ladder: twoSteps, components: "a 110 x; b w1 x"}, "components.yaml:2: the layout single cannot be generated: b has no phase"},
		"no step":            {platform{ladder: twoSteps, components: "a 120 x"}, "components.yaml:1: the layout single cannot be generated: no step matches a"},
		"no tier":            {platform{layout: plan.Tiers, ladder: `steps: [{phases: ["110", "210"]}]`, components: "a 110 x"}, "the step 110,210 belongs to no tier"},
		"by hand":            {platform{layout: plan.AppOfApps, ladder: `steps: [{phases: ["110"], maxUpdate: 0}]`, components: "a 110 x"}, "the step 110 has maxUpdate 0, to be started by hand"},
		"a phase twice":      {platform{ladder: "tiers: [x, y]\nlayout: tiers\nsteps: [{tier: x, phases: [\"110\"]}, {tier: y, phases: [\"110\"]}]", layout: plan.Single, components: "a 110 x; b 110 y"}, "the phase 110 is in two steps, 110 of x and 110 of y"},
		"the root's name":    {platform{ladder: twoSteps, components: "a-dev 110 x"}, "has the name of the Application that applies it"},
		"the root's project": {platform{ladder: twoSteps, components: "b 110 a-dev"}, "components.yaml:1: the layout single cannot be generated: the component b has the AppProject a-dev, which is that of the Applications that apply them"},
		"the root's, once":   {platform{ladder: twoSteps, components: "b 110 a-dev; c 150 a-dev"}, "components.yaml:1: the layout single cannot be generated: b, c have the AppProject a-dev, which is that of the Applications that apply them"},
		"no name":            {platform{ladder: twoSteps, components: "b 110 ../../../x"}, `components.yaml:1: the layout single cannot be generated: the component b has the project "../../../x", which is not a name that an AppProject can have`},
		"an unknown layout":  {platform{layout: "flat", ladder: twoSteps, components: "a 110 x"}, `the layout "flat" is not one of single, tiers, app-of-apps`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test.build(t)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
