package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Input is what is inferred from.
type Input struct {
	// Components with unique names, in any order; disabled ones provide and
	// require nothing.
	Components []model.Component
	// Objects by the name of their component. A component that is missing was
	// not rendered; one of which a part was says so in its Known.
	Objects map[string][]manifest.Object
	// Placed are objects that need nothing but their namespace, by component: those of Flux itself.
	Placed map[string][]manifest.Object
	// Filled are the Kustomizations and HelmReleases of Flux that take values from Secrets and
	// ConfigMaps, by component.
	Filled map[string]Filled
	// Catalogue says what is known of the chart of a component; nil knows
	// nothing.
	Catalogue func(model.Component) (Known, bool)
	// Package says what is known of a package of the Operator Lifecycle Manager; nil
	// knows nothing.
	Package func(name string) (KnownPackage, bool)
	// Assessed says whether Argo CD assesses the health of a kind, so that a sync
	// waits for its objects. Where it is nil every kind counts as assessed.
	Assessed func(group, kind string) bool
	// Waived says of which kinds the settings have every object be Healthy: what these lack
	// is no finding. It may be nil.
	Waived func(group, kind string) bool
	// Read reads a file of the repository by the path that components give: the
	// value files of charts that are not rendered. Where it is nil only values that
	// are written in an Application count.
	Read func(file string) ([]byte, error)
	// Existing are namespaces that are there before any component: those that the
	// Applications of Argo CD live in.
	Existing []string
	// Related reports whether what is at an address may be of the owner of this repository;
	// nil takes everything for that.
	Related func(address string) bool
	// Order compares two components; nil means model.Compare. A layout whose
	// ApplicationSets are ordered among each other gives its own.
	Order func(a, b *model.Component) int
}

// Result is what Infer finds.
type Result struct {
	// Dependencies between objects, those within a component included, sorted by
	// consumer and required thing. Evidence has the lines of objects;
	// manifest.Lines finds those of its fields.
	//
	// Between two components there is one for each required thing, the gravest
	// and first of those who require it; within a component, one per object.
	Dependencies []dependency.Dependency
	// Missing is what nothing provides, one for each thing and component.
	Missing []dependency.Missing
	// Lacks are the parts that nothing puts into what is provided, one for each part
	// and component.
	Lacks []dependency.Lack
	// Installations are the operators that Subscriptions install, by component and
	// place in their files.
	Installations []dependency.Installation
	// Edges are the dependencies between components and the declared
	// requirements, merged: at most one of a basis between two components. They
	// are as strong as the need is, whether or not Argo CD assesses the consumer.
	Edges []plan.Edge
	// Findings are about declared requirements that nothing provides.
	Findings []finding.Finding
}

// Infer finds what every object requires and which object provides it. The same
// input in any order gives the same result.
func Infer(in Input) Result {
	indexes := perCluster(in)
	var out Result
	for _, x := range indexes {
		declared, findings := x.declared()
		found := &collection{x: x, cross: map[crossKey]*entry{}, missing: map[crossKey]dependency.Missing{}, lacks: map[lackKey]dependency.Lack{}}
		x.require(found)
		x.requireKnown(found)
		x.requireLands(found)
		x.requireFilled(found)
		x.requireInstalled(found)
		x.webhooks(found)
		x.bindings(found)
		for _, i := range x.partial {
			x.configured(found, i)
		}
		out.Dependencies = joined(out.Dependencies, found.dependencies())
		out.Missing = append(out.Missing, found.sortedMissing()...)
		out.Lacks = append(out.Lacks, found.sortedLacks()...)
		out.Installations = append(out.Installations, x.installations()...)
		out.Findings = append(out.Findings, findings...)
		out.Edges = joined(out.Edges, merge(declared, found.edges()))
	}
	finding.Sort(out.Findings)
	if len(indexes) > 1 {
		out.sort()
	}
	return out
}

// joined appends without a copy of the first: mostly there is one cluster.
func joined[T any](all, more []T) []T {
	if len(all) == 0 {
		return more
	}
	return append(all, more...)
}

// Places returns where each object of one component stands in the sync of its
// Application. applied is false for those that a sync which succeeds never
// applies: tests and deletion hooks.
func Places(objects []manifest.Object) (places []dependency.Place, applied []bool) {
	sync, applied := manifest.SyncPlaces(objects)
	places = make([]dependency.Place, len(sync))
	for i, p := range sync {
		places[i] = dependency.Place{Hook: int(p.Phase), Wave: p.Wave, Kind: p.Kind, IsHook: p.Hook}
	}
	return places, applied
}
