package infer

import (
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Input is what edges are inferred from.
type Input struct {
	Components []component.Component
	// Objects by the name of their component.
	Objects map[string][]manifest.Object
}

// Edges returns every edge with its evidence, and findings about requirements
// that nothing provides.
func Edges(in Input) ([]plan.Edge, []finding.Finding) {
	return Declared(in.Components), nil
}
