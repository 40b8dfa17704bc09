package lint

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// lines prints what a run of all rules finds that judge an Input, one line per
// finding: severity, rule, consumer, provider and resource, "-" for none.
func lines(in Input) []string {
	var out []string
	for _, f := range Run(in, Options{Rules: Rules()}) {
		resource := "-"
		if f.Resource.Kind != "" {
			resource = f.Resource.Human()
		}
		out = append(out, fmt.Sprintf("%s %s %s %s %s", f.Severity, f.Rule, cmp.Or(f.Component, "-"), cmp.Or(f.Provider, "-"), resource))
	}
	slices.Sort(out)
	return out
}

// cases runs a table: what each input must give, and nothing else.
type cases map[string]struct {
	in   Input
	want []string
}

func (all cases) run(t *testing.T) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, lines(c.in)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// at makes a component of an app-of-apps with a path of sync waves.
func at(name string, waves ...int) model.Component {
	return model.Component{
		Name: name, Phase: model.NoPhase, Waves: waves, Enabled: true,
		Position: finding.Position{File: "apps/" + name + ".yaml", Line: 1},
	}
}

// on makes a component of a ladder.
func on(phase model.Phase, name, domain string, t model.Type) model.Component {
	c := model.Component{
		Name: name, Phase: phase, Domain: domain, Type: t, Enabled: true,
		Position: finding.Position{File: "components/" + name + ".yaml", Line: 1},
		Fields:   map[string]finding.Position{},
	}
	if phase >= 0 {
		c.Fields["rolloutPhase"] = finding.Position{File: c.Position.File, Line: 3}
	}
	if domain != "" {
		c.Fields["domain"] = finding.Position{File: c.Position.File, Line: 2}
	}
	if t != "" {
		c.Fields["componentType"] = finding.Position{File: c.Position.File, Line: 4}
	}
	return c
}

var (
	workload   = finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "web"}
	secret     = finding.Resource{Kind: "Secret", Namespace: "ns", Name: "token"}
	external   = finding.Resource{Group: "external-secrets.io", Kind: "ExternalSecret", Namespace: "ns", Name: "token"}
	custom     = finding.Resource{Group: "acme.example", Kind: "Widget", Namespace: "ns", Name: "one"}
	definition = finding.Resource{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "widgets.acme.example"}
)

// end is one end of a dependency, an ordinary object of a wave.
func end(of string, r finding.Resource, wave int) dependency.End {
	return dependency.End{
		Component: of, Object: r, Place: dependency.Place{Hook: 1, Wave: wave},
		Position: finding.Position{File: of + "/" + strings.ToLower(r.Kind) + ".yaml", Line: 1},
	}
}

func hook(e dependency.End, phase int) dependency.End {
	e.Place.Hook, e.Place.IsHook = phase, true
	return e
}

// needs is a hard dependency.
func needs(rule string, effect dependency.Effect, required finding.Resource, consumer, provider dependency.End) dependency.Dependency {
	return dependency.Dependency{
		Rule: rule, Required: required, Strength: plan.Hard, Effect: effect, Basis: finding.Rendered,
		Reason: "needs " + required.Human(), Consumer: consumer, Provider: provider,
	}
}

func soft(d dependency.Dependency) dependency.Dependency {
	d.Strength = plan.Soft
	return d
}

func declares(from, to string) plan.Edge {
	return plan.Edge{From: from, To: to, Strength: plan.Hard, Basis: finding.Declared, Reason: "requires",
		Evidence: []finding.Evidence{{Text: from + " requires " + to, File: "components/" + from + ".yaml", Line: 9, Field: "requires[0]"}}}
}

// The documentation of every rule that judges an Input has a bad and a good
// example.
func TestRulesHaveExamples(t *testing.T) {
	for _, r := range Rules() {
		for _, part := range []string{"Bad: ", "Good: ", "Fix: "} {
			if !strings.Contains(r.Doc, strings.TrimSpace(part)) {
				t.Errorf("%s: the documentation has no part %q", r.ID, part)
			}
		}
	}
}

// The order of everything in an Input is no information: shuffled input gives
// the same findings.
func TestShuffledInputGivesTheSameFindings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := arbitrary(t)
		want := Run(in, Options{Rules: Rules()})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		shuffled := in
		shuffled.Components = mixed(random, in.Components)
		shuffled.Objects = mixed(random, in.Objects)
		shuffled.Dependencies = mixed(random, in.Dependencies)
		shuffled.Missing = mixed(random, in.Missing)
		shuffled.Edges = mixed(random, in.Edges)
		shuffled.Argo.Applications = mixed(random, in.Argo.Applications)
		shuffled.Argo.ApplicationSets = mixed(random, in.Argo.ApplicationSets)
		if diff := gocmp.Diff(want, Run(shuffled, Options{Rules: Rules()})); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
}

func mixed[T any](random *rand.Rand, all []T) []T {
	out := slices.Clone(all)
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// arbitrary draws an input in which many things are wrong.
func arbitrary(t *rapid.T) Input {
	var in Input
	names := []string{"a", "b", "c", "d", "e"}
	some := rapid.IntRange(0, 4)
	domains := []string{"one", "two"}
	in.Ladder = plan.Ladder{
		Layout: rapid.SampledFrom([]plan.Layout{plan.Single, plan.Tiers, plan.AppOfApps}).Draw(t, "layout"),
		Bands:  []plan.Band{{Name: "one", From: 0, To: 99}, {Name: "two", From: 100, To: 199}},
		Sets:   domains,
		Steps:  []plan.LadderStep{{Phases: []model.Phase{10, 20}}, {Phases: []model.Phase{50}, Set: "one"}, {Phases: []model.Phase{110}}},
	}
	for _, name := range names {
		if rapid.Bool().Draw(t, "waves") {
			in.Components = append(in.Components, at(name, some.Draw(t, "wave")))
			continue
		}
		phase := rapid.SampledFrom([]model.Phase{model.NoPhase, 10, 20, 50, 99, 110, 250}).Draw(t, "phase")
		kind := rapid.SampledFrom(model.Types()).Draw(t, "type")
		in.Components = append(in.Components, on(phase, name, rapid.SampledFrom(domains).Draw(t, "domain"), kind))
	}
	resources := []finding.Resource{workload, secret, external, custom, definition, {Kind: "Namespace", Name: "ns"}}
	who := func(label string) dependency.End {
		e := end(rapid.SampledFrom(names).Draw(t, label), rapid.SampledFrom(resources).Draw(t, label+" object"), some.Draw(t, label+" wave"))
		if rapid.Bool().Draw(t, label+" hook") {
			e = hook(e, rapid.IntRange(0, 2).Draw(t, label+" hook phase"))
		}
		return e
	}
	for range rapid.IntRange(0, 12).Draw(t, "dependencies") {
		rule := rapid.SampledFrom(beforeUse()).Draw(t, "rule").id
		effect := rapid.SampledFrom([]dependency.Effect{dependency.Apply, dependency.Ready}).Draw(t, "effect")
		d := needs(rule, effect, rapid.SampledFrom(resources).Draw(t, "required"), who("consumer"), who("provider"))
		if rapid.Bool().Draw(t, "soft") {
			d = soft(d)
		}
		in.Dependencies = append(in.Dependencies, d)
		in.Objects = append(in.Objects, Object{Component: d.Provider.Component, Resource: d.Provider.Object, Place: d.Provider.Place, Position: d.Provider.Position})
		in.Missing = append(in.Missing, dependency.Missing{Rule: rule, Required: d.Required, Strength: plan.Hard, Reason: d.Reason, Consumer: d.Consumer})
	}
	for range rapid.IntRange(0, 8).Draw(t, "edges") {
		in.Edges = append(in.Edges, declares(rapid.SampledFrom(names).Draw(t, "from"), rapid.SampledFrom(names).Draw(t, "to")))
	}
	for i, name := range names {
		in.Argo.Applications = append(in.Argo.Applications, argo.Application{
			Name: name, Parent: rapid.SampledFrom([]string{"", "root"}).Draw(t, "parent"), Wave: argo.Wave{Value: some.Draw(t, "application wave")},
			Position: finding.Position{File: "apps.yaml", Line: i + 1},
		})
	}
	return in
}
