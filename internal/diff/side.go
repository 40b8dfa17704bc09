package diff

import (
	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Side is one state of a platform.
type Side struct {
	// Name is as it was asked for; Revision the hash of a commit, empty for the
	// work tree.
	Name, Revision string
	Environment    string
	// Missing is set where there is no such environment.
	Missing    bool
	Components []model.Component
	Plan       *plan.Plan
	// Objects of every component that was rendered whole.
	Objects map[string][]manifest.Object
	// Unrendered is what could not be rendered.
	Unrendered []report.Unrendered
	// Precise gives evidence the lines of its fields; nil leaves it as it is.
	Precise func([]plan.Edge) []plan.Edge
}

// SideOf is a loaded platform with its plan.
func SideOf(name, revision string, loaded *analysis.Result, planned *plan.Plan, unrendered []report.Unrendered) Side {
	return Side{
		Name: name, Revision: revision, Environment: loaded.Platform.Environment,
		Components: loaded.Platform.Components, Plan: planned, Objects: loaded.Objects,
		Unrendered: unrendered, Precise: loaded.PreciseEdges,
	}
}

// MissingSide is an environment that is not there.
func MissingSide(name, revision, environment string) Side {
	return Side{Name: name, Revision: revision, Environment: environment, Missing: true, Plan: &plan.Plan{}}
}

// unrendered are the components of which something could not be rendered.
func (s Side) unrendered() map[string]bool {
	out := map[string]bool{}
	for _, u := range s.Unrendered {
		out[u.Component] = true
	}
	return out
}

func (s Side) source() Source {
	out := Source{
		Name: s.Name, Revision: s.Revision, Environment: s.Environment, Missing: s.Missing,
		Components: len(s.Components), Edges: plan.Pairs(s.Plan.Edges, s.Plan.Dropped), Unrendered: list(s.Unrendered),
	}
	for _, objects := range s.Objects {
		out.Objects += len(objects)
	}
	return out
}

// steps are the steps of the planned and disabled components, by name.
func (s Side) steps() map[string]int {
	out := map[string]int{}
	for i, step := range s.Plan.Steps {
		for _, name := range step.Components {
			out[name] = i
		}
		for _, name := range step.Disabled {
			out[name] = i
		}
	}
	return out
}

func (s Side) byName() map[string]*model.Component {
	out := make(map[string]*model.Component, len(s.Components))
	for i := range s.Components {
		out[s.Components[i].Name] = &s.Components[i]
	}
	return out
}
