package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

const ruleHealthCheck = "health-check-missing"

// healthCheckMissing finds custom kinds that something later waits for and that
// count as Healthy as soon as they are applied, so that the wait is none.
func healthCheckMissing(in Input) []finding.Finding {
	o := newOrder(in)
	objects := map[dependency.End]Object{}
	for _, object := range in.Objects {
		objects[dependency.End{Component: object.Component, Object: object.Resource}] = object
	}
	type kind struct{ group, kind string }
	seen := map[kind]int{}
	var out []finding.Finding
	for _, d := range byConsumer(in.Dependencies) {
		provider, found := objects[dependency.End{Component: d.Provider.Component, Object: d.Provider.Object}]
		k := kind{provider.Resource.Group, provider.Resource.Kind}
		if !found || provider.Health != "" || !isCustom(k.group) || d.Strength != plan.Hard || d.Static || tooWeak(d) || !o.waits(d) {
			continue
		}
		if i, again := seen[k]; again {
			if len(out[i].Evidence) < 4 {
				out[i].Evidence = append(out[i].Evidence, where(d.Consumer.Position, "%s %s", who(d.Consumer), d.Reason))
			}
			continue
		}
		seen[k] = len(out)
		f := fromDependency(d, finding.Rule)
		f.Rule, f.Severity = ruleHealthCheck, finding.Warning
		f.Component, f.Provider = d.Provider.Component, ""
		f.Resource, f.Position = provider.Resource, provider.Position
		f.Message = fmt.Sprintf("%s %s, which %s makes, but nothing assesses the health of the kind %s: it counts as Healthy as soon as it is applied",
			who(d.Consumer), d.Reason, provider.Resource.Human(), k.kind)
		f.Evidence = append([]finding.Evidence{where(d.Consumer.Position, "%s %s", who(d.Consumer), d.Reason)}, f.Evidence...)
		f.Fix.Summary = fmt.Sprintf("add resource.customizations.health.%s_%s to argocd-cm, or health to the descriptor", k.group, k.kind)
		if !in.Argo.Settings.Known {
			f.Severity = finding.Info
		}
		out = append(out, f)
	}
	return out
}

// byConsumer sorts dependencies by where their consumers are.
func byConsumer(all []dependency.Dependency) []dependency.Dependency {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b dependency.Dependency) int {
		return cmp.Or(
			a.Consumer.Position.Compare(b.Consumer.Position),
			strings.Compare(a.Consumer.Component, b.Consumer.Component),
			strings.Compare(a.Consumer.Object.String(), b.Consumer.Object.String()),
			strings.Compare(a.Provider.Component, b.Provider.Component),
			strings.Compare(a.Provider.Object.String(), b.Provider.Object.String()),
			strings.Compare(a.Reason, b.Reason),
		)
	})
	return all
}

// waits reports whether the order makes the consumer of a dependency wait for
// its provider.
func (o *order) waits(d dependency.Dependency) bool {
	if d.Within() {
		_, enabled := o.byName[d.Consumer.Component]
		return enabled && d.Provider.Place.Compare(d.Consumer.Place) < 0
	}
	consumer, provider, ok := o.pair(d.Consumer.Component, d.Provider.Component)
	return ok && o.compare(provider, consumer) < 0
}

// isCustom reports whether a group is not one of Kubernetes itself.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io")
}
