package infer

import (
	"cmp"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// bindings: a claim of a class with the binding mode WaitForFirstConsumer stays
// Pending, which is not Healthy, until a pod that mounts it is scheduled. A claim
// before all its consumers then holds the sync for ever. Source: Kubernetes,
// "Volume Binding Mode".
func (x *index) bindings(found *collection) {
	if !x.kinds[kindWaiting] {
		return
	}
	consumers := map[key][]*object{}
	for _, of := range x.objects {
		for _, o := range of {
			podClaims(o, func(name, _ string) {
				k := pvcKey(o.namespace(), name)
				consumers[k] = append(consumers[k], o)
			})
		}
	}
	for i, of := range x.objects {
		for _, o := range of {
			if !o.is("", "PersistentVolumeClaim") {
				continue
			}
			claimsOf(o, func(claim map[string]any, field, path string) {
				x.bind(found, o, i, claim, field, path, consumers[pvcKey(o.namespace(), o.name)])
			})
		}
	}
}

func (x *index) bind(found *collection, o *object, i int, claim map[string]any, field, path string, consumers []*object) {
	name, ok := classOf(claim, field)
	if !ok || len(consumers) == 0 {
		return
	}
	class, ok := x.find(key{Kind: kindWaiting, Name: name}, i, o.place)
	if !ok {
		return
	}
	var first *object
	for _, c := range consumers {
		if !x.later(c, o) {
			return // this one binds the claim in time
		}
		if first == nil || x.earlier(c, first) {
			first = c
		}
	}
	verb := "binds only when a pod mounts it"
	evidence := required(o, verb, path)
	if name != defaultClass {
		evidence.Field = path + "." + field
	}
	waits := x.provided(class)
	waits.Text = "its StorageClass has the binding mode WaitForFirstConsumer"
	found.add(&dependency.Dependency{
		Rule: ruleDeadlock, Required: first.resource(), Strength: plan.Hard, Effect: dependency.Ready, Basis: class.basis, Reason: verb,
		Consumer: o.end(x.name(i)), Provider: first.end(x.name(first.component)),
		Evidence: []finding.Evidence{evidence, waits, x.provided(provider{component: first.component, object: first, position: first.Origin.Position()})},
	}, i, first.component, plan.Hard)
}

// later reports whether a sync waits for b before it applies a.
func (x *index) later(a, b *object) bool {
	if a.component == b.component {
		return a.place.Compare(b.place) > 0
	}
	return x.in.Order(&x.in.Components[a.component], &x.in.Components[b.component]) > 0
}

func (x *index) earlier(a, b *object) bool {
	return cmp.Or(cmp.Compare(x.rank[a.component], x.rank[b.component]), a.place.Compare(b.place), a.Origin.Position().Compare(b.Origin.Position())) < 0
}
