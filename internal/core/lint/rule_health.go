package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const ruleHealthCheck = "health-check-missing"

// healthCheckMissing finds custom kinds that something later waits for and that
// count as Healthy as soon as they are applied, so that the wait is none.
func healthCheckMissing(in Input) []finding.Finding {
	if in.Flux != nil {
		return nil // Flux judges every kind by its conditions
	}
	o := newOrder(in)
	unjudged := map[dependency.End]*Object{}
	for i := range in.Objects {
		if object := &in.Objects[i]; object.Health == "" && isCustom(object.Resource.Group) && !in.Argo.Settings.Waives(object.Resource.Group, object.Resource.Kind) {
			unjudged[dependency.End{Component: object.Component, Object: object.Resource}] = object
		}
	}
	if len(unjudged) == 0 {
		return nil
	}
	provider := func(l link) *Object {
		if !isCustom(l.Provider.Object.Group) {
			return nil
		}
		return unjudged[dependency.End{Component: l.Provider.Component, Object: l.Provider.Object}]
	}
	var uses []link
	for _, l := range o.links {
		if !l.weak && provider(l) != nil && l.Strength == plan.Hard && !l.Static && o.waits(l) {
			uses = append(uses, l)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	byConsumer(uses)
	first := o.firstGated()
	type kind struct{ group, kind string }
	seen := map[kind]int{}
	var out []finding.Finding
	for _, l := range uses {
		provider := provider(l)
		k := kind{provider.Resource.Group, provider.Resource.Kind}
		if p, gated := first[l.Provider]; gated && l.within && p.Compare(l.Consumer.Place) < 0 {
			continue // what comes before the consumer, and is waited for, needs it as well
		}
		if i, again := seen[k]; again {
			if len(out[i].Evidence) < 4 {
				out[i].Evidence = append(out[i].Evidence, where(l.Consumer.Position, "%s %s", who(l.Consumer), l.Reason))
			}
			continue
		}
		seen[k] = len(out)
		f := fromDependency(l, finding.Rule)
		f.Rule, f.Severity = ruleHealthCheck, finding.Warning
		f.Component, f.Provider = l.Provider.Component, ""
		f.Resource, f.Position = provider.Resource, provider.Position
		f.Message = fmt.Sprintf("%s %s, which %s makes, but nothing assesses the health of the kind %s: it counts as Healthy as soon as it is applied",
			who(l.Consumer), l.Reason, provider.Resource.Human(), k.kind)
		f.Evidence = append([]finding.Evidence{where(l.Consumer.Position, "%s %s", who(l.Consumer), l.Reason)}, f.Evidence...)
		f.Fix.Summary = fmt.Sprintf("add resource.customizations.health.%s_%s to argocd-cm, or health to the descriptor", k.group, k.kind)
		// Inside one Application nothing fails: the kubelet tries a pod again until
		// what it reads is there.
		if !in.Argo.Settings.Known || l.within && runsPods(l.Consumer.Object) {
			f.Severity = finding.Info
		}
		out = append(out, f)
	}
	return out
}

// firstGated finds for each object, and by what it is named in dependencies, the
// first place of its own component where something that the sync waits for needs it.
func (o *order) firstGated() map[dependency.End]dependency.Place {
	first := map[dependency.End]dependency.Place{}
	for _, l := range o.inside {
		p := l.Consumer.Place
		if l.weak || l.Strength != plan.Hard || p.Compare(l.Provider.Place) < 0 || !p.IsHook && !o.assessed().waits(l) {
			continue
		}
		if known, ok := first[l.Provider]; !ok || p.Compare(known) < 0 {
			first[l.Provider] = p
		}
	}
	return first
}

// runsPods reports whether an object is a workload of Kubernetes itself.
func runsPods(r finding.Resource) bool {
	switch r.Group {
	case "":
		return r.Kind == "Pod" || r.Kind == "ReplicationController"
	case "apps", "batch":
		return true
	}
	return false
}

// byConsumer sorts dependencies by where their consumers are.
func byConsumer(all []link) {
	slices.SortStableFunc(all, func(a, b link) int {
		return cmp.Or(
			a.Consumer.Position.Compare(b.Consumer.Position),
			strings.Compare(a.Consumer.Component, b.Consumer.Component),
			strings.Compare(a.Consumer.Object.String(), b.Consumer.Object.String()),
			strings.Compare(a.Provider.Component, b.Provider.Component),
			strings.Compare(a.Provider.Object.String(), b.Provider.Object.String()),
			strings.Compare(a.Reason, b.Reason),
		)
	})
}

// waits reports whether the order makes the consumer of a dependency wait for
// its provider.
func (o *order) waits(l link) bool {
	if l.within {
		return l.consumer != nil && l.Provider.Place.Compare(l.Consumer.Place) < 0
	}
	if !l.across() {
		return false
	}
	consumer, provider := l.standing()
	return o.compare(provider, consumer) < 0
}

// isCustom reports whether a group is not one of Kubernetes itself.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io")
}
