package infer

import (
	"cmp"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
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
	const verb = "binds only when a pod mounts it"
	var first, sleeper *object
	for _, c := range consumers {
		switch {
		case idle(c):
			if sleeper == nil || x.earlier(c, sleeper) {
				sleeper = c
			}
		case !x.later(c, o):
			return // this one binds the claim in time
		case first == nil || x.earlier(c, first):
			first = c
		}
	}
	evidence := required(o, verb, path)
	if name != defaultClass {
		evidence.Field = path + "." + field
	}
	waits := x.provided(class)
	waits.Text = "its StorageClass has the binding mode WaitForFirstConsumer"
	if first == nil {
		x.unbound(found, o, i, sleeper, []finding.Evidence{evidence, waits})
		return
	}
	found.add(&dependency.Dependency{
		Rule: ruleDeadlock, Required: first.resource(), Strength: plan.Hard, Effect: dependency.Ready, Basis: class.basis, Reason: verb,
		Consumer: o.end(x.name(i)), Provider: first.end(x.name(first.component)),
		Evidence: []finding.Evidence{evidence, waits, x.provided(provider{component: first.component, object: first, position: first.Origin.Position()})},
	}, i, first.component, plan.Hard)
}

// unbound reports a claim that only such objects mount that start no pod during a
// sync, as a CronJob does, where the sync has more to do after it. What names the
// claim otherwise may mount it: then nothing is said. It is soft, since the claim
// binds once the pod comes.
func (x *index) unbound(found *collection, claim *object, i int, sleeper *object, evidence []finding.Evidence) {
	var held *object
	for _, of := range x.objects {
		for _, o := range of {
			if customGroup(o.g) && o.namespace() == claim.namespace() && mentions(o.root(), claim.name) {
				return
			}
			if o.component == i && o.place.Compare(claim.place) > 0 && o.place.Hook <= afterSync && (held == nil || x.earlier(o, held)) {
				held = o
			}
		}
	}
	if held == nil {
		return
	}
	mounts := required(sleeper, "mounts it, and starts no pod during a sync", "")
	found.add(&dependency.Dependency{
		Rule: ruleDeadlock, Required: held.resource(), Strength: plan.Soft, Effect: dependency.Ready, Basis: finding.Rendered, Holds: true,
		Reason:   "binds only when a pod mounts it, which " + sleeper.resource().Human() + " does not do during a sync",
		Consumer: claim.end(x.name(i)), Provider: held.end(x.name(i)),
		Evidence: append(evidence, mounts, required(held, "is not reached before", "")),
	}, i, i, plan.Soft)
}

// afterSync is the last hook phase of a sync that succeeds.
const afterSync = 2

// mentions reports whether a text anywhere in a value is a name.
func mentions(v any, name string) bool {
	switch v := v.(type) {
	case string:
		return v == name
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, name) })
	case map[string]any:
		for _, e := range v {
			if mentions(e, name) {
				return true
			}
		}
	}
	return false
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
