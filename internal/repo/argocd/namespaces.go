package argocd

import (
	"cmp"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Namespaces are those that are there before any component, sorted: the Applications themselves
// live in them, since Argo CD runs there before it reads the first of them; the files of
// components that nothing applies have them, since who applies such a file applies all of it; or
// the root makes it.
func (r *Repository) Namespaces(components []model.Component) []string {
	names := append(r.namespacesIn(components), r.madeByRoot(components)...)
	for _, app := range slices.Concat(r.applications, r.sets) {
		// Placeholders of templates are no names.
		if name := cmp.Or(app.value.TextAt("metadata", "namespace"), defaultNamespace); namespaceName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// madeByRoot is the Namespace that the Application makes which applies all components, directly
// or not: Argo CD makes that of a destination before the first thing that it syncs.
func (r *Repository) madeByRoot(components []model.Component) []string {
	root := ""
	for i := range components {
		parents := components[i].Parents
		if len(parents) == 0 || parents[0] == "" || root != "" && parents[0] != root {
			return nil
		}
		root = parents[0]
	}
	for _, app := range r.applications {
		destination := app.value.At("spec", "destination")
		here := destination.TextAt("server") == inClusterServer || destination.TextAt("name") == inCluster
		options := app.value.At("spec", "syncPolicy", "syncOptions")
		if app.name() != root || !here || options == nil {
			continue
		}
		for _, option := range options.Items {
			if name := destination.TextAt("namespace"); option.Text == "CreateNamespace=true" && namespaceName.MatchString(name) {
				return []string{name}
			}
		}
	}
	return nil
}

// namespaceName is that of a DNS label (RFC 1123).
var namespaceName = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
