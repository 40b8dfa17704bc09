package argocd

import (
	"cmp"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Namespaces are those that are there before what goes there, sorted: the Applications themselves
// live in them, since Argo CD runs there before it reads the first of them; the files of
// components that nothing applies have them, since who applies such a file applies all of it; or
// parents make them.
func (r *Repository) Namespaces(read Reading) []string {
	names := append(r.namespacesIn(read.Components), read.created...)
	for _, app := range slices.Concat(r.applications, r.sets) {
		// Placeholders of templates are no names.
		if name := cmp.Or(app.value.TextAt("metadata", "namespace"), defaultNamespace); namespaceName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// madeByParents are the Namespaces that parents make which are no components themselves: Argo CD makes
// that of a destination before the first thing that it syncs. What goes there is all below the parent,
// or the parent is above everything.
func (w *walk) madeByParents(components []model.Component) []string {
	var names []string
	for _, d := range w.parents {
		to, options := d.value.At("spec", "destination"), d.value.At("spec", "syncPolicy", "syncOptions")
		name := to.TextAt("namespace")
		if destination(d) != inCluster || options == nil || !namespaceName.MatchString(name) ||
			!slices.ContainsFunc(options.Items, func(option *yamldoc.Value) bool { return option.Text == "CreateNamespace=true" }) {
			continue
		}
		outside := func(c model.Component) bool { return !slices.Contains(c.Parents, d.name()) }
		if !slices.ContainsFunc(components, func(c model.Component) bool { return c.Namespace == name && outside(c) }) || !slices.ContainsFunc(components, outside) {
			names = append(names, name)
		}
	}
	return names
}

// namespaceName is that of a DNS label (RFC 1123).
var namespaceName = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
