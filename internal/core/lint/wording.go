package lint

import (
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// What findings about an order have in common: their severity, and how they name the two ends.

// bySeverity is the severity of what stands in the wrong order.
func bySeverity(s plan.Strength) finding.Severity {
	if s == plan.Soft {
		return finding.Warning
	}
	return finding.Error
}

// fromDependency makes a finding without severity and message.
func fromDependency(l link, scope finding.Scope) finding.Finding {
	return finding.Finding{
		Rule: l.Rule, Scope: scope, Component: l.Consumer.Component, Provider: l.Provider.Component,
		Resource: l.Required, Position: l.Consumer.Position, Basis: l.Basis, Evidence: slices.Clone(l.Evidence),
	}
}

// who names an end by its object, or by its component where it has none.
func who(e dependency.End) string {
	if e.Object.Kind == "" {
		return e.Component
	}
	return e.Object.Human()
}

// whose names an end with its component.
func whose(e dependency.End) string {
	if e.Object.Kind == "" {
		return e.Component
	}
	return e.Object.Human() + " of " + e.Component
}

// when says where an object stands in the sync of its Application.
func when(p dependency.Place) string {
	wave := fmt.Sprintf("wave %d", p.Wave)
	switch {
	case p.Hook < 1:
		return "PreSync hook, " + wave
	case p.Hook > 1:
		return "PostSync hook, " + wave
	case p.IsHook:
		return "Sync hook, " + wave
	default:
		return wave
	}
}
