package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Conversions: an object in another version than the stored one passes through
// the conversion webhook of its CRD, which always fails closed. Source:
// Kubernetes, "Versions in CustomResourceDefinitions".

// conversion is the webhook of one CRD.
type conversion struct {
	definition  *object
	group, kind string
	stored      string
	provider    provider
}

func (x *index) conversions() []conversion {
	var out []conversion
	for _, of := range x.objects {
		for _, o := range of {
			service := mapping(o.root(), "spec", "conversion", "webhook", "clientConfig", "service")
			if !o.is("apiextensions.k8s.io", "CustomResourceDefinition") || service == nil || text(o.root(), "spec", "conversion", "strategy") != "Webhook" {
				continue
			}
			group, kind := text(o.root(), "spec", "group"), text(o.root(), "spec", "names", "kind")
			out = append(out, conversion{definition: o, group: group, kind: kind, stored: x.world.versions[group+"/"+kind],
				provider: x.behind(serviceKey(text(service, "namespace"), text(service, "name")), o)})
		}
	}
	return out
}

func (x *index) convert(found *collection, c conversion, objects []*object) {
	for _, o := range objects {
		if c.provider.object == o {
			continue
		}
		r := c.definition.resource()
		n := interception{verb: "is converted from version " + o.v + " by a webhook", strength: plan.Hard, effect: dependency.Apply}
		x.intercepted(found, o, n, r, c.provider, finding.Evidence{Text: r.Human() + " stores version " + c.stored + " and converts by a webhook",
			File: c.definition.Origin.File, Line: c.definition.Origin.Line, Object: r.String(), Field: "spec.conversion"})
	}
}
