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
	unjudged := map[dependency.End]Object{}
	for _, object := range in.Objects {
		if object.Health == "" && isCustom(object.Resource.Group) {
			unjudged[dependency.End{Component: object.Component, Object: object.Resource}] = object
		}
	}
	provider := func(d dependency.Dependency) (Object, bool) {
		object, found := unjudged[dependency.End{Component: d.Provider.Component, Object: d.Provider.Object}]
		return object, found
	}
	var uses []dependency.Dependency
	for _, d := range in.Dependencies {
		if _, found := provider(d); found && d.Strength == plan.Hard && !d.Static && !tooWeak(d) && o.waits(d) {
			uses = append(uses, d)
		}
	}
	if len(uses) == 0 {
		return nil
	}
	byConsumer(uses)
	first := o.firstGated(in)
	type kind struct{ group, kind string }
	seen := map[kind]int{}
	var out []finding.Finding
	for _, d := range uses {
		provider, _ := provider(d)
		k := kind{provider.Resource.Group, provider.Resource.Kind}
		if p, gated := first[d.Provider]; gated && d.Within() && p.Compare(d.Consumer.Place) < 0 {
			continue // what comes before the consumer, and is waited for, needs it as well
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
		// Inside one Application nothing fails: the kubelet tries a pod again until
		// what it reads is there.
		if !in.Argo.Settings.Known || d.Within() && runsPods(d.Consumer.Object) {
			f.Severity = finding.Info
		}
		out = append(out, f)
	}
	return out
}

// firstGated finds for each object, and by what it is named in dependencies, the
// first place of its own component where something that the sync waits for needs it.
func (o *order) firstGated(in Input) map[dependency.End]dependency.Place {
	assessed := assessments(in)
	first := map[dependency.End]dependency.Place{}
	for _, d := range in.Dependencies {
		p := d.Consumer.Place
		if !d.Within() || d.Strength != plan.Hard || tooWeak(d) || p.Compare(d.Provider.Place) < 0 || !p.IsHook && !assessed.waits(d) {
			continue
		}
		if known, ok := first[d.Provider]; !ok || p.Compare(known) < 0 {
			first[d.Provider] = p
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
func byConsumer(all []dependency.Dependency) {
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
}

// waits reports whether the order makes the consumer of a dependency wait for
// its provider.
func (o *order) waits(d dependency.Dependency) bool {
	if d.Within() {
		_, enabled := o.byName[d.Consumer.Component]
		return enabled && d.Provider.Place.Compare(d.Consumer.Place) < 0
	}
	consumer, provider, ok := o.ends(d)
	return ok && o.compare(provider, consumer) < 0
}

// isCustom reports whether a group is not one of Kubernetes itself.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io")
}
