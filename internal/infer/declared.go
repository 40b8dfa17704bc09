package infer

import (
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Declared returns the edges that descriptors declare by the name of a
// component: its requires, and for a smoke what it validates. Names that do not
// exist are left out; Edges reports them.
func Declared(components []component.Component) []plan.Edge {
	known := map[string]bool{}
	for _, c := range components {
		known[c.Name] = true
	}
	var out []plan.Edge
	add := func(c component.Component, r component.Requirement, verb, field string) {
		if !known[r.Text] || r.Text == c.Name {
			return
		}
		out = append(out, plan.Edge{
			From: c.Name, To: r.Text, Strength: plan.Hard, Basis: finding.Declared, Reason: verb,
			Evidence: []finding.Evidence{{
				Text: c.Name + " " + verb + " " + r.Text, File: r.Position.File, Line: r.Position.Line, Field: field,
			}},
		})
	}
	for _, c := range components {
		for _, r := range c.Requires {
			add(c, r, "requires", "requires")
		}
		for _, r := range c.Validates {
			add(c, r, "validates", "validates")
		}
	}
	return out
}
