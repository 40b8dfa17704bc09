package infer

import (
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Input is what is inferred from.
type Input struct {
	// Components in their order; disabled ones provide and require nothing.
	Components []component.Component
	// Objects by the name of their component. A component that is missing was
	// not rendered.
	Objects map[string][]manifest.Object
	// Catalogue says what is known of the chart of a component; nil knows
	// nothing.
	Catalogue func(component.Component) (Known, bool)
	// Assessed says whether Argo CD assesses the health of a kind, so that a sync
	// waits for its objects. Where it is nil every kind counts as assessed.
	Assessed func(group, kind string) bool
}

// Result is what Infer finds.
type Result struct {
	// Dependencies between objects, those within a component included, sorted by
	// consumer and required thing.
	Dependencies []dependency.Dependency
	// Missing is what nothing provides.
	Missing []dependency.Missing
	// Edges are the dependencies between components and the declared
	// requirements, merged: at most one of a basis between two components.
	Edges []plan.Edge
	// Findings are about declared requirements that nothing provides.
	Findings []finding.Finding
}

// Infer finds what every object requires and which object provides it.
func Infer(in Input) Result {
	edges, findings := Edges(in)
	return Result{Edges: edges, Findings: findings}
}
