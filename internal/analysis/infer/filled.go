package infer

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Filled is a Kustomization or HelmRelease of Flux, which is the object, with the Secrets and
// ConfigMaps in its namespace that it takes values from: without them a Kustomization applies
// nothing, and a HelmRelease installs nothing.
type Filled struct {
	Object   finding.Resource
	Position finding.Position
	From     []fluxcd.Source
}

func (f Filled) isRelease() bool { return f.Object.Kind == string(fluxcd.HelmRelease) }

// end is the object as the consumer of something.
func (f Filled) end(component string) dependency.End {
	return dependency.End{Component: component, Object: f.Object, Place: dependency.Place{Hook: 1}, Position: f.Position}
}

// requires is the evidence that the object requires something.
func (f Filled) requires(reason, field string) finding.Evidence {
	return finding.Evidence{Text: f.Object.Human() + " " + reason, File: f.Position.File, Line: f.Position.Line, Object: f.Object.String(), Field: field}
}

// requireFilled finds what makes the values of HelmReleases, and the values of variables that a
// Kustomization applies itself: it fails before it applies them. Source: helm-controller, "Values",
// which tries again for as long as a reference that is not optional is missing.
func (x *index) requireFilled(found *collection) {
	for i := range x.in.Components {
		c := &x.in.Components[i]
		filled := x.in.Filled[c.Name]
		for _, from := range filled.From {
			k := secretKey(filled.Object.Namespace, from.Name)
			if from.Kind == "ConfigMap" {
				k = configMapKey(filled.Object.Namespace, from.Name)
			}
			p, ok := x.find(k, i, dependency.Place{Hook: 1})
			own := ok && p.component == i
			if !ok || !c.Enabled || own == filled.isRelease() || own && p.object == nil {
				continue
			}
			// What applies the Kustomization may apply it, too.
			above := func(p provider) bool { return slices.Contains(c.Parents, x.name(p.component)) }
			if own && slices.ContainsFunc(x.provide[k], above) {
				continue
			}
			reason, effect := "fills in variables of "+from.Kind+" "+from.Name, dependency.Apply
			if filled.isRelease() {
				reason, effect = "takes values from "+x.world.required(k).Human(), dependency.Ready
			}
			found.add(&dependency.Dependency{
				Rule: ruleOf(k.Kind), Required: x.world.required(k), Strength: plan.Hard, Effect: effect, Basis: p.basis, Reason: reason,
				Consumer: filled.end(c.Name), Provider: x.end(p), Evidence: []finding.Evidence{filled.requires(reason, from.Field), x.provided(p)},
			}, i, p.component, plan.Hard)
		}
	}
}

// requireInstalled finds the Namespaces that charts are installed into of which nothing is known.
func (x *index) requireInstalled(found *collection) {
	for _, i := range x.partial {
		c, filled := &x.in.Components[i], x.in.Filled[x.name(i)]
		if !filled.isRelease() || slices.ContainsFunc(x.knownLands, func(l knownLand) bool { return l.component == i }) {
			continue
		}
		k := namespaceKey(c.Namespace)
		p, ok := x.find(k, i, dependency.Place{Hook: 1})
		if !ok || p.component == i || x.there(k, i, p) {
			continue
		}
		reason, field := "is installed into Namespace "+c.Namespace, "spec.targetNamespace"
		if c.Namespace == filled.Object.Namespace {
			field = "metadata.namespace"
		}
		found.add(&dependency.Dependency{
			Rule: ruleOf(kindNamespace), Required: x.world.required(k), Strength: plan.Hard, Effect: dependency.Apply, Basis: p.basis, Reason: reason,
			Consumer: filled.end(c.Name), Provider: x.end(p), Evidence: []finding.Evidence{filled.requires(reason, field), x.provided(p)},
		}, i, p.component, plan.Hard)
	}
}
