package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

func TestParity(t *testing.T) {
	in := func(environment string, components ...model.Component) lint.Input {
		for i := range components {
			components[i].Environment = environment
			components[i].Position = finding.Position{File: environment + "/" + components[i].Name, Line: 1}
		}
		return lint.Input{Environment: environment, Components: components}
	}
	c := func(name string, phase model.Phase) model.Component {
		return model.Component{Name: name, Phase: phase, Enabled: true}
	}
	off := func(name string, phase model.Phase) model.Component {
		return model.Component{Name: name, Phase: phase}
	}
	with := func(i lint.Input, edges ...plan.Edge) lint.Input { i.Edges = edges; return i }
	hard := plan.Edge{From: "a", To: "b", Strength: plan.Hard, Basis: finding.Rendered, Reason: "reads Secret x/y"}
	inherited := hard
	inherited.Inherited = true
	soft := plan.Edge{From: "a", To: "b", Strength: plan.Soft, Basis: finding.Rendered}
	validates := plan.Edge{From: "a", To: "b", Strength: plan.Hard, Basis: finding.Declared, Reason: "validates"}
	blind := func(i lint.Input, names ...string) lint.Input { i.Unrendered = names; return i }

	tests := map[string]struct {
		environments []lint.Input
		accepted     []lint.Acceptance
		want         []string
		hidden       int
		unused       int
	}{
		"alike": {environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), hard), with(in("prod", c("a", 1), c("b", 2)), hard)}},
		"missing": {
			environments: []lint.Input{in("dev", c("a", 1), c("b", 2)), in("prod", c("a", 1)), in("test", c("a", 1), c("b", 2))},
			want:         []string{"warning dev/b: b is in dev and test and missing in prod"},
		},
		"disabled": {
			environments: []lint.Input{in("dev", c("a", 1)), in("prod", off("a", 1))},
			want:         []string{"info dev/a: a is rolled out in dev and disabled in prod"},
		},
		"disabled or missing": {
			environments: []lint.Input{in("dev", c("a", 1)), in("prod", off("a", 1)), in("test")},
			want:         []string{"warning dev/a: a is rolled out in dev, missing in test and disabled in prod"},
		},
		"disabled everywhere": {environments: []lint.Input{in("dev", off("a", 1)), in("prod")}},
		"another place; most say which": {
			environments: []lint.Input{in("dev", c("a", 7)), in("prod", c("a", 350)), in("test", c("a", 350))},
			want:         []string{"warning dev/a: a stands at 350 in prod and test and at 007 in dev"},
		},
		"another place, disabled": {
			environments: []lint.Input{in("dev", off("a", 7)), in("prod", off("a", 8))},
			want:         []string{"warning prod/a: a stands at 007 in dev and at 008 in prod"},
		},
		"no place": {
			environments: []lint.Input{in("dev", c("a", 7)), in("prod", c("a", model.NoPhase))},
			want:         []string{"warning prod/a: a stands at 007 in dev and at no place in prod"},
		},
		"an edge": {
			environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), hard), in("prod", c("a", 1), c("b", 2))},
			want:         []string{"warning prod/a: a requires b in dev and not in prod"},
		},
		"several edges of one difference": {
			environments: []lint.Input{
				with(in("dev", c("a", 1), c("b", 2), c("c", 2)), hard, plan.Edge{From: "a", To: "c", Strength: plan.Hard}),
				in("prod", c("a", 1), c("b", 2), c("c", 2)),
			},
			want: []string{"warning prod/a: a requires b and c in dev and not in prod"},
		},
		"a smoke": {
			environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), validates), in("prod", c("a", 1), c("b", 2))},
			want:         []string{"warning prod/a: a validates b in dev and not in prod"},
		},
		"an inherited edge": {environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), inherited), in("prod", c("a", 1), c("b", 2))}},
		"an edge, inherited in another": {
			environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), inherited), with(in("prod", c("a", 1), c("b", 2)), hard), in("test", c("a", 1), c("b", 2))},
			want:         []string{"warning test/a: a requires b in dev and prod and not in test"},
		},
		"a soft edge":                       {environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), soft), in("prod", c("a", 1), c("b", 2))}},
		"an edge of what was not rendered":  {environments: []lint.Input{with(in("dev", c("a", 1), c("b", 2)), hard), blind(in("prod", c("a", 1), c("b", 2)), "a")}},
		"an edge to what is disabled there": {environments: []lint.Input{with(in("dev", c("a", 1), off("b", 2)), hard), in("prod", c("a", 1), off("b", 2))}},
		"accepted by the environment that lacks": {
			environments: []lint.Input{in("dev", c("a", 1)), in("prod"), in("test", c("a", 1))},
			accepted:     []lint.Acceptance{{Component: "a", Environments: []string{"prod"}, Reason: "r"}},
			hidden:       1,
		},
		"accepted by the environment that has": {
			environments: []lint.Input{in("dev"), in("prod", c("a", 1)), in("test")},
			accepted:     []lint.Acceptance{{Environments: []string{"prod"}, Reason: "r"}},
			hidden:       1,
		},
		"accepted for another": {
			environments: []lint.Input{in("dev", c("a", 1)), in("prod"), in("test")},
			accepted:     []lint.Acceptance{{Component: "a", Environments: []string{"prod"}, Reason: "r"}, {Component: "b", Reason: "r"}},
			want:         []string{"warning dev/a: a is in dev and missing in prod and test"},
			unused:       2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found, hidden, unused := lint.Parity(test.environments, test.accepted)
			var got []string
			for _, f := range found {
				if f.Rule != lint.RuleParity || f.Position.File == "" {
					t.Errorf("%+v has no rule or position", f)
				}
				got = append(got, string(f.Severity)+" "+f.Environment+"/"+f.Component+": "+f.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(hidden) != test.hidden || len(unused) != test.unused {
				t.Errorf("hidden %d, want %d; unused %d, want %d", len(hidden), test.hidden, len(unused), test.unused)
			}
		})
	}
}

// A platform without environments has no differences.
func TestParityOfNothing(t *testing.T) {
	if found, hidden, _ := lint.Parity(nil, nil); len(found)+len(hidden) > 0 {
		t.Errorf("found %v, hidden %v", found, hidden)
	}
}
