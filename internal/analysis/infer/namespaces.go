package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Namespaces: an object cannot be applied before its namespace exists.

func namespaceKey(name string) key { return key{Kind: kindNamespace, Name: name} }

// createsNamespace: Argo CD makes the namespace of a destination before the first
// object that lands there.
func (x *index) createsNamespace(i int) {
	c := &x.in.Components[i]
	if c.Namespace == "" || !c.HasSyncOption("CreateNamespace=true") {
		return
	}
	p := provider{component: i, by: "the sync option CreateNamespace=true", position: c.At("syncOptions"), basis: finding.Rendered}
	found := false
	for _, o := range x.objects[i] {
		if o.namespace() == c.Namespace && (!found || o.place.Compare(p.place) < 0) {
			found = true
			p.place = dependency.Place{Hook: o.place.Hook, Wave: o.place.Wave}
		}
	}
	x.add(namespaceKey(c.Namespace), p)
}

func providesNamespace(o *object, add func(key)) {
	if o.is("", "Namespace") || o.is("project.openshift.io", "Project") {
		add(namespaceKey(o.name))
	}
}

func requiresNamespace(w *world, o *object, add func(need)) {
	if customGroup(o.g) && o.GetNamespace() == "" && !w.scoped[o.g+"/"+o.k] {
		return // it may as well be of a kind without namespaces
	}
	if ns := o.namespace(); ns != "" {
		add(need{key: namespaceKey(ns), field: "metadata.namespace", strength: plan.Hard, effect: dependency.Apply, verb: "lands in Namespace " + ns, absent: true})
	}
}
