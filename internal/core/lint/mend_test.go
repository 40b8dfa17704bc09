package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// TestEditsOfOrder: the consumer moves after all that it requires, if nothing
// that requires it is left behind.
func TestEditsOfOrder(t *testing.T) {
	at := func(name string) finding.Position { return finding.Position{File: name + ".yaml", Line: 3} }
	wave := func(name string, waves ...int) model.Component {
		return model.Component{Name: name, Enabled: true, Waves: waves, Phase: model.NoPhase, Position: at(name)}
	}
	phase := func(name string, p model.Phase, kind model.Type) model.Component {
		return model.Component{
			Name: name, Enabled: true, Phase: p, Domain: "data", Type: kind, Position: at(name),
			Fields: map[string]finding.Position{"rolloutPhase": at(name)},
		}
	}
	hard := func(from, to string) plan.Edge { return plan.Edge{From: from, To: to, Strength: plan.Hard} }
	ladder := plan.Ladder{
		Bands: []plan.Band{{Name: "data", From: 200, To: 299}},
		Slots: []plan.Slot{{Offset: 50, Types: []model.Type{model.Runtime}}, {Offset: 55, Types: []model.Type{model.Bootstrap, model.Runtime}}},
		Steps: []plan.LadderStep{{Phases: []model.Phase{240}}, {Phases: []model.Phase{250}}, {Phases: []model.Phase{255}}, {Phases: []model.Phase{350}}},
	}
	application := func(c model.Component) argo.Application {
		return argo.Application{Name: c.Name, Component: c.Name, Position: c.Position}
	}
	setTo := func(value string, path ...string) []finding.Edit {
		return []finding.Edit{{File: "consumer.yaml", Line: 3, Op: finding.Set, Path: path, Value: value}}
	}
	const key = "argocd.argoproj.io/sync-wave"
	tests := map[string]struct {
		components []model.Component
		edges      []plan.Edge
		generated  bool
		want       []finding.Edit
	}{
		"the next wave": {
			components: []model.Component{wave("consumer", 1), wave("provider", 4)},
			edges:      []plan.Edge{hard("consumer", "provider")},
			want:       setTo(`"5"`, "metadata", "annotations", key),
		},
		"after all that it requires": {
			components: []model.Component{wave("consumer", 1), wave("provider", 4), wave("other", 7)},
			edges:      []plan.Edge{hard("consumer", "provider"), hard("consumer", "other")},
			want:       setTo(`"8"`, "metadata", "annotations", key),
		},
		"not past what requires it": {
			components: []model.Component{wave("consumer", 1), wave("provider", 4), wave("dependent", 5)},
			edges:      []plan.Edge{hard("consumer", "provider"), hard("dependent", "consumer")},
		},
		"past what requires it and is wrong already": {
			components: []model.Component{wave("consumer", 1), wave("provider", 4), wave("dependent", 0)},
			edges:      []plan.Edge{hard("consumer", "provider"), hard("dependent", "consumer")},
			want:       setTo(`"5"`, "metadata", "annotations", key),
		},
		"below another parent": {
			components: []model.Component{wave("consumer", 1, 1), wave("provider", 2, 4)},
			edges:      []plan.Edge{hard("consumer", "provider")},
		},
		"generated": {
			components: []model.Component{wave("consumer", 1), wave("provider", 4)},
			edges:      []plan.Edge{hard("consumer", "provider")},
			generated:  true,
		},
		"the next phase of band and slot": {
			components: []model.Component{phase("consumer", 240, model.Runtime), phase("provider", 250, model.Runtime)},
			edges:      []plan.Edge{hard("consumer", "provider")},
			want:       setTo(`"255"`, "rolloutPhase"),
		},
		"no phase of the band is late enough": {
			components: []model.Component{phase("consumer", 240, model.Runtime), phase("provider", 255, model.Runtime)},
			edges:      []plan.Edge{hard("consumer", "provider")},
		},
		"no slot for its type": {
			components: []model.Component{phase("consumer", 240, model.CRDs), phase("provider", 250, model.Runtime)},
			edges:      []plan.Edge{hard("consumer", "provider")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := lint.Input{Ladder: ladder, Components: test.components, Edges: test.edges}
			for _, c := range test.components {
				a := application(c)
				if test.generated {
					a.Set = "set"
				}
				in.Argo.Applications = append(in.Argo.Applications, a)
			}
			in.Findings = []finding.Finding{{
				Rule: "crd-before-use", Severity: finding.Error, Scope: finding.Cross, Component: "consumer", Provider: "provider",
			}}
			found := lint.Run(in, lint.Options{Rules: []lint.Rule{}})
			if found[0].Fix.Moves != (test.want != nil) {
				t.Errorf("moves: %v", found[0].Fix.Moves)
			}
			if diff := cmp.Diff(test.want, found[0].Fix.Edits); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
