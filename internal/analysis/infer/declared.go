package infer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The rules of this package.
const (
	// RuleUnknownRequirement: a descriptor requires something that does not
	// exist.
	RuleUnknownRequirement = "unknown-requirement"
	// RuleDisabledButRequired: an enabled component requires a disabled one.
	RuleDisabledButRequired = "disabled-but-required"
)

// Declared returns the edges that descriptors declare by the name of a
// component: its requires, and for a smoke what it validates. Names that do not
// exist are left out; Edges reports them.
func Declared(components []model.Component) []plan.Edge {
	known := map[string]bool{}
	for _, c := range components {
		known[c.Name] = true
	}
	var out []plan.Edge
	for _, c := range components {
		statements(c, func(r model.Requirement, verb, field string) {
			if known[r.Text] && r.Text != c.Name {
				out = append(out, declaredEdge(c.Name, r.Text, verb, r.Position, field))
			}
		})
	}
	return merge(out)
}

// statements visits what a descriptor declares.
func statements(c model.Component, visit func(r model.Requirement, verb, field string)) {
	for i, r := range c.Requires {
		visit(r, "requires", cmp.Or(r.Field, fmt.Sprintf("requires[%d]", i)))
	}
	for i, r := range c.Validates {
		visit(r, "validates", fmt.Sprintf("validates[%d]", i))
	}
}

func declaredEdge(from, to, verb string, at finding.Position, field string) plan.Edge {
	return plan.Edge{From: from, To: to, Strength: plan.Hard, Basis: finding.Declared, Reason: verb,
		Evidence: []finding.Evidence{{Text: from + " " + verb + " " + to, File: at.File, Line: at.Line, Field: field}}}
}

// declared resolves what descriptors declare to components, and reports what
// cannot be resolved. Disabled components need nothing, but what they name must
// exist all the same: they keep their place.
func (x *index) declared() (edges []plan.Edge, findings []finding.Finding) {
	number := 0
	for i := range x.in.Components {
		number += len(x.in.Components[i].Requires) + len(x.in.Components[i].Validates)
	}
	edges = make([]plan.Edge, 0, number)
	for i, c := range x.in.Components {
		statements(c, func(r model.Requirement, verb, field string) {
			if capability, ok := r.Capability(); ok {
				if !c.Enabled {
					return
				}
				e, f := x.declaredCapability(i, capability, r, verb, field)
				edges, findings = append(edges, e...), append(findings, f...)
				return
			}
			to, known := x.component(r.Text)
			switch {
			case !known:
				findings = append(findings, x.unknown(c, r, verb))
			case !c.Enabled || to.Name == c.Name:
			case !to.Enabled:
				findings = append(findings, finding.Finding{
					Rule: RuleDisabledButRequired, Severity: finding.Error, Scope: finding.Cross, Component: c.Name, Provider: r.Text,
					Position: r.Position, Basis: finding.Declared, Environment: c.Environment,
					Message: fmt.Sprintf("%s %s %s, which is disabled", c.Name, verb, r.Text),
					Evidence: []finding.Evidence{{Text: r.Text + " is disabled here", File: to.At("enabled").File,
						Line: to.At("enabled").Line, Field: "enabled"}},
					Fix: finding.Fix{Summary: fmt.Sprintf("enable %s, or disable %s as well, or drop the requirement", r.Text, c.Name)},
				})
			default:
				e := declaredEdge(c.Name, r.Text, verb, r.Position, field)
				e.Inherited = r.Inherited
				edges = append(edges, e)
			}
		})
	}
	return edges, findings
}

func (x *index) declaredCapability(consumer int, k key, r model.Requirement, verb, field string) ([]plan.Edge, []finding.Finding) {
	c := x.in.Components[consumer]
	if full, ok := shortKinds[k.Kind]; ok {
		k.Kind = full
	}
	namespaced, known := declaredKinds[k.Kind]
	if !known {
		f := x.finding(c, r, fmt.Sprintf("%s %s %s, but %q is no kind of capability", c.Name, verb, r.Text, k.Kind))
		kinds := slices.Sorted(maps.Keys(declaredKinds))
		f.Fix.Summary = "write one of " + strings.Join(kinds, ", ")
		if near := yamldoc.Nearest(k.Kind, kinds); near != "" {
			f.Fix.Summary = "did you mean " + near + "?"
		}
		return nil, []finding.Finding{f}
	}
	if namespaced && k.Namespace == "" {
		k.Namespace = c.Namespace
	}
	if builtin(k) {
		return nil, nil
	}
	p, ok := x.find(k, consumer, dependency.Place{Hook: 1})
	if !ok {
		return nil, []finding.Finding{x.unprovided(c, k, r, verb)}
	}
	to := x.in.Components[p.component].Name
	if p.component == consumer || to == c.Name {
		return nil, nil
	}
	e := declaredEdge(c.Name, to, verb+" "+k.String(), r.Position, field)
	e.Evidence[0].Text = c.Name + " " + verb + " " + k.String()
	e.Evidence = append(e.Evidence, x.provided(p))
	return []plan.Edge{e}, nil
}

func (x *index) finding(c model.Component, r model.Requirement, message string) finding.Finding {
	return finding.Finding{Rule: RuleUnknownRequirement, Severity: finding.Error, Scope: finding.Cross, Component: c.Name,
		Environment: c.Environment, Position: r.Position, Basis: finding.Declared, Message: message}
}

func (x *index) unknown(c model.Component, r model.Requirement, verb string) finding.Finding {
	f := x.finding(c, r, fmt.Sprintf("%s %s %s, which does not exist", c.Name, verb, r.Text))
	f.Fix.Summary = "correct the name, or drop the requirement"
	if near := yamldoc.Nearest(r.Text, x.names()); near != "" {
		f.Fix.Summary = "did you mean " + near + "?"
	}
	return f
}

// unprovided reports a capability that no rendered object provides. While some
// component is not rendered that is no proof.
func (x *index) unprovided(c model.Component, k key, r model.Requirement, verb string) finding.Finding {
	f := x.finding(c, r, fmt.Sprintf("%s %s %s, which no component provides", c.Name, verb, k))
	f.Resource = finding.Resource{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
	f.Fix.Summary = "correct the name, add the component that provides it, or name the component instead"
	var names []string
	for have := range x.provide {
		if have.Kind == k.Kind && have.Name != defaultClass {
			names = append(names, have.String())
		}
	}
	slices.Sort(names)
	if near := yamldoc.Nearest(k.String(), names); near != "" {
		f.Fix.Summary = "did you mean " + near + "?"
	}
	var others []string
	for _, other := range x.in.Components {
		if _, rendered := x.in.Objects[other.Name]; other.Enabled && !rendered {
			others = append(others, other.Name)
		}
	}
	if len(others) > 0 {
		f.Severity = finding.Warning
		f.Message += "; " + others[0] + " is not rendered and may provide it"
		if len(others) > 1 {
			f.Message = fmt.Sprintf("%s, as may %d others", f.Message, len(others)-1)
		}
	}
	return f
}
