package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestUntangle: waves below different parents order nothing, so that a requirement
// between two of them is no mistake of the order.
func TestUntangle(t *testing.T) {
	at := func(name, parent string, wave int) model.Component {
		return model.Component{Name: name, Phase: model.NoPhase, Waves: []int{wave}, Parents: []string{parent}, Enabled: true}
	}
	requires := func(from, to string) Edge { return Edge{From: from, To: to, Strength: Hard} }
	steps := func(p *Plan) map[string]string {
		out := map[string]string{}
		for _, s := range p.Steps {
			for _, c := range s.Components {
				out[c] = s.Label
			}
		}
		return out
	}
	components := []model.Component{at("web", "apps/", 0), at("base", "infra/", 1), at("operator", "infra/", 2), at("late", "infra/", 3)}
	for name, c := range map[string]struct {
		edges []Edge
		want  map[string]string
		wrong int
	}{
		"no edge against the line leaves it": {
			[]Edge{requires("late", "web")}, map[string]string{"web": "0", "base": "1", "operator": "2", "late": "3"}, 0,
		},
		"a provider below another parent": {
			[]Edge{requires("web", "operator")}, map[string]string{"base": "1", "operator": "2", "web": "0 3", "late": "0 3"}, 0,
		},
		"a provider below the same parent stays wrong": {
			[]Edge{requires("base", "operator")}, map[string]string{"web": "0", "base": "1", "operator": "2", "late": "3"}, 1,
		},
		"both ways cannot be": {
			[]Edge{requires("web", "operator"), requires("base", "web")}, map[string]string{"base": "1", "operator": "2", "web": "0 3", "late": "0 3"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Components: components, Edges: c.edges, Policy: rollout.Phases}
			p, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			inv, err := TakeInventory(p, in, nil)
			if err != nil {
				t.Fatal(err)
			}
			listed := map[string]string{}
			for _, g := range inv.Phases {
				for _, m := range g.Members {
					listed[m.Name] = inv.Steps[g.Step-1].Label
				}
			}
			if diff := cmp.Diff(c.want, listed); diff != "" {
				t.Errorf("inventory (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, steps(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(p.Against) != c.wrong {
				t.Errorf("against %v", p.Against)
			}
		})
	}
}

// TestUntangleKeepsTheLine: where one edge goes against the line, those that go along
// with it, and that nothing else orders, are kept.
func TestUntangleKeepsTheLine(t *testing.T) {
	at := func(name, parent string, wave int) model.Component {
		return model.Component{Name: name, Phase: model.NoPhase, Waves: []int{wave}, Parents: []string{parent}, Enabled: true}
	}
	p, err := Build(Input{
		Components: []model.Component{at("gateway", "infra/", -4), at("operator", "infra/", 2), at("web", "apps/", 0), at("model", "models/", 3)},
		Edges:      []Edge{{From: "web", To: "operator", Strength: Hard}, {From: "model", To: "gateway", Strength: Hard}},
		Policy:     rollout.Phases,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Against) > 0 {
		t.Errorf("against the order: %v", p.Against)
	}
	if got := p.Steps[0].Components; !slices.Equal(got, []string{"gateway"}) {
		t.Errorf("first %v", got)
	}
}
