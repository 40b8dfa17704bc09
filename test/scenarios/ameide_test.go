package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

const (
	ameide = "../../examples/ameide"
)

var ameideEnvironments = []string{"dev", "staging", "prod"}

// platform opens one environment and renders its enabled components. Nothing
// may be wrong with either.
func platform(t *testing.T, environment string) (*repo.Platform, map[string][]manifest.Object) {
	t.Helper()
	ctx := context.Background()
	p, err := repo.Open(ctx, ameide, repo.Options{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Findings {
		t.Errorf("%s: %s: %s", f.Position, f.Rule, f.Message)
	}
	enabled := slices.DeleteFunc(slices.Clone(p.Components), func(c model.Component) bool { return !c.Enabled })
	r := render.New(p.Root, p.Repository, render.Options{KubeVersion: p.Target().KubeVersion, Offline: true, NoCache: true})
	objects := map[string][]manifest.Object{}
	for _, result := range r.All(ctx, enabled, nil) {
		if result.Err != nil {
			t.Errorf("render: %v", result.Err)
		}
		objects[result.Component] = result.Objects
	}
	return p, objects
}

// Every component stands in a later phase than everything that it requires or
// validates, in every environment: the ladder is right without relying on the
// order inside a step.
func TestAmeideRequirementsComeEarlier(t *testing.T) {
	for _, environment := range ameideEnvironments {
		t.Run(environment, func(t *testing.T) {
			p, objects := platform(t, environment)
			phases, providers := map[string]model.Phase{}, provided(p, objects)
			for _, c := range p.Components {
				if c.Enabled {
					phases[c.Name] = c.Phase
				}
			}
			for _, c := range p.Components {
				if !c.Enabled {
					continue
				}
				for _, r := range slices.Concat(c.Requires, c.Validates) {
					name := r.Text
					if capability, ok := r.Capability(); ok {
						if name, ok = providers[capability.String()]; !ok {
							t.Errorf("%s: %s requires %s, which nothing provides", r.Position, c.Name, r.Text)
							continue
						}
					}
					switch phase, ok := phases[name]; {
					case !ok:
						t.Errorf("%s: %s requires %s, which is not rolled out in %s", r.Position, c.Name, name, environment)
					case phase >= c.Phase:
						t.Errorf("%s: %s stands at %s, but requires %s of %s", r.Position, c.Name, c.Phase, r.Text, phase)
					}
				}
			}
		})
	}
}

// provided maps the capabilities that descriptors of the example name to the
// component behind them.
func provided(p *repo.Platform, objects map[string][]manifest.Object) map[string]string {
	out := map[string]string{}
	for _, c := range p.Components {
		for _, o := range objects[c.Name] {
			add := func(kind, name string) {
				namespace := o.GetNamespace()
				out[model.Capability{Kind: kind, Namespace: namespace, Name: name}.String()] = c.Name
			}
			field := func(path ...string) string {
				value, _, _ := unstructured.NestedString(o.Object, path...)
				return value
			}
			switch o.GetKind() {
			case "Namespace", "StorageClass", "Secret":
				add(strings.ToLower(o.GetKind()), o.GetName())
			case "CustomResourceDefinition":
				add("crd", o.GetName())
			case "ExternalSecret":
				add("secret", field("spec", "target", "name"))
			case "Certificate":
				add("secret", field("spec", "secretName"))
			case "Cluster":
				add("secret", o.GetName()+"-app")
			}
		}
	}
	return out
}

// Every phase in use has one step, every step and every component says what it
// waits for, and the original 44 steps are all there.
func TestAmeideSteps(t *testing.T) {
	p, err := repo.Open(context.Background(), ameide, repo.Options{Environment: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	matches := map[model.Phase]int{}
	for _, s := range p.Ladder.Steps {
		if s.Gate == "" || !s.MaxUpdate.Set {
			t.Errorf("%s: step %v needs a gate and maxUpdate", s.Position, s.Phases)
		}
		for _, phase := range s.Phases {
			matches[phase]++
		}
	}
	for _, c := range p.Components {
		if matches[c.Phase] != 1 {
			t.Errorf("%s: %d steps match phase %s of %s", c.Position, matches[c.Phase], c.Phase, c.Name)
		}
		if c.Gate == "" {
			t.Errorf("%s: %s has no gate", c.Position, c.Name)
		}
	}
	written := open(t, fixtures.AmeideAsWritten(t, root), "dev")
	if n := len(written.Ladder.Steps); n != 44 {
		t.Errorf("the ladder as written has %d steps", n)
	}
	for _, s := range written.Ladder.Steps {
		same := func(o plan.LadderStep) bool {
			return slices.Equal(o.Phases, s.Phases) && o.MaxUpdate == s.MaxUpdate
		}
		if !slices.ContainsFunc(p.Ladder.Steps, same) {
			t.Errorf("step %v with maxUpdate %d is gone", s.Phases, s.MaxUpdate.Count)
		}
	}
}

// Every correction was needed: where the ladder was written, the component
// stands before, or beside, something that it requires, or behind something that
// requires it.
func TestAmeideCorrectionsWereNeeded(t *testing.T) {
	corrected, written := open(t, ameide, "dev"), open(t, fixtures.AmeideAsWritten(t, root), "dev")
	phases := func(p *repo.Platform) map[string]model.Phase {
		out := map[string]model.Phase{}
		for _, c := range p.Components {
			out[c.Name] = c.Phase
		}
		return out
	}
	before, after := phases(written), phases(corrected)
	contradicted := map[string]bool{}
	for _, c := range written.Components {
		for _, r := range slices.Concat(c.Requires, c.Validates) {
			if required, ok := before[r.Text]; ok && required >= c.Phase {
				contradicted[c.Name], contradicted[r.Text] = true, true
			}
		}
	}
	moved := 0
	for name, phase := range before {
		if phase == after[name] {
			continue
		}
		moved++
		if !contradicted[name] {
			t.Errorf("%s moved from %s to %s, but nothing contradicts %s", name, phase, after[name], phase)
		}
	}
	if want := len(fixtures.AmeideMoves(t, root)); moved != want {
		t.Errorf("%d components stand elsewhere, phases.tsv lists %d", moved, want)
	}
}

func open(t *testing.T, dir, environment string) *repo.Platform {
	t.Helper()
	p, err := repo.Open(context.Background(), dir, repo.Options{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
