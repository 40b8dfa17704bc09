package infer

import (
	"maps"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// perCluster indexes the components of each cluster on their own: what is in one
// cluster provides nothing in another. There is always one index.
func perCluster(in Input) []*index {
	several := func(c model.Component) bool { return c.Cluster != in.Components[0].Cluster }
	if !slices.ContainsFunc(in.Components, several) {
		return []*index{newIndex(in)}
	}
	parts := map[string][]model.Component{}
	for _, c := range in.Components {
		parts[c.Cluster] = append(parts[c.Cluster], c)
	}
	others := map[string]model.Component{}
	for _, c := range in.Components {
		others[c.Name] = c
	}
	var all []*index
	for _, cluster := range slices.Sorted(maps.Keys(parts)) {
		part := in
		part.Components = parts[cluster]
		x := newIndex(part)
		x.elsewhere = others
		all = append(all, x)
	}
	for _, x := range all {
		x.clusters = all
	}
	return all
}

// component finds a component by its name, in whatever cluster it is.
func (x *index) component(name string) (*model.Component, bool) {
	if i, ok := x.byName[name]; ok {
		return &x.in.Components[i], true
	}
	c, ok := x.elsewhere[name]
	return &c, ok
}

// names lists the components of all clusters, sorted.
func (x *index) names() []string {
	all := maps.Clone(x.elsewhere)
	if all == nil {
		all = map[string]model.Component{}
	}
	for name, i := range x.byName {
		all[name] = x.in.Components[i]
	}
	return slices.Sorted(maps.Keys(all))
}

// inOther reports whether something provides a thing in another cluster. Two
// destinations may be names of one cluster, so that it may be there.
func (x *index) inOther(k key) bool {
	return slices.ContainsFunc(x.clusters, func(other *index) bool { return other != x && len(other.provide[k]) > 0 })
}

// sort puts what was found in several clusters into one order.
func (r *Result) sort() {
	slices.SortFunc(r.Dependencies, func(a, b dependency.Dependency) int { return compareDependencies(&a, &b) })
	slices.SortFunc(r.Missing, compareMissing)
	slices.SortFunc(r.Lacks, byConsumer)
	slices.SortFunc(r.Installations, func(a, b dependency.Installation) int { return compareEnds(&a.Subscription, &b.Subscription) })
	r.Edges = merge(r.Edges)
}
