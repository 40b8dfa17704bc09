package lint

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// findBesides finds the objects of a parent that are refused until an Application is synced
// which the parent applies in the same wave: one dependency for each of these Applications, and
// one for a namespace that several of them make. What keeps the parent from being synced at all
// is told of the dry run. A parent that something else has applied before has its kinds.
func (o *order) findBesides(in Input) map[*dependency.Dependency]bool {
	dryRun := o.dryRun()
	type pair struct{ parent, child string }
	failing, best := map[pair]bool{}, map[pair]link{}
	before := map[*model.Component]bool{}
	isThere := func(parent *model.Component) bool {
		is, asked := before[parent]
		if !asked {
			is = in.madeByItself(*parent) || in.hasArgoCD(*parent)
			before[parent] = is
		}
		return is
	}
	for _, l := range o.links {
		if !l.refuses || l.weak || !l.toChild() || l.Effect != dependency.Apply || isThere(l.consumer) {
			continue
		}
		consumer, provider := l.standing()
		if o.compare(consumer, provider) != 0 || l.Rule == ruleWebhook {
			continue // what the Application of one wave registers comes after all of that wave
		}
		p := pair{l.consumer.Name, l.provider.Name}
		failing[p] = failing[p] || dryRun.fails(l)
		if onlyCreated(l) {
			p.child = l.Required.String()
		}
		if have, ok := best[p]; !ok || comesBefore(l, have) {
			best[p] = l
		}
	}
	found := map[*dependency.Dependency]bool{}
	for _, l := range best {
		if !failing[pair{l.consumer.Name, l.provider.Name}] {
			found[l.Dependency] = true
		}
	}
	return found
}
