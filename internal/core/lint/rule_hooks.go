package lint

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const ruleHooksOnly = "hooks-never-sync"

// hooksNeverSync finds Applications that apply nothing but hooks, with automated sync. Argo CD
// does not count hooks in the sync status: the Application is Synced from the start, and what is
// Synced is not synced automatically. Metadata of the namespace do count. Source: argo-cd,
// controller/state.go, CompareAppState; controller/appcontroller.go, autoSync.
func hooksNeverSync(in Input) []finding.Finding {
	rolling := map[string]bool{}
	for _, s := range in.Argo.ApplicationSets {
		rolling[s.Name] = s.RollingSync
	}
	components := map[string]*model.Component{}
	for i := range in.Components {
		components[in.Components[i].Name] = &in.Components[i]
	}
	hooks, counted := map[string][]*Object{}, map[string]bool{}
	for i := range in.Objects {
		if o := &in.Objects[i]; o.Place.IsHook {
			hooks[o.Component] = append(hooks[o.Component], o)
		} else {
			counted[o.Component] = true
		}
	}
	for _, o := range in.Own {
		counted[o.Component] = true
	}
	var out []finding.Finding
	for _, app := range in.Argo.Applications {
		c, all := components[app.Component], hooks[app.Component]
		switch {
		case c == nil || len(all) == 0 || counted[app.Component] || !app.Automated || app.Assumed || rolling[app.Set]:
			continue
		case c.AppOfApps || isParent(in.Argo, app.Name): // whose Applications are not among the objects
			continue
		case len(c.NamespaceLabels)+len(c.NamespaceAnnotations) > 0 || slices.Contains(in.Unrendered, c.Name):
			continue
		case slices.ContainsFunc(c.Sources, func(s model.Source) bool { return s.Incomplete != "" }):
			continue // with other values there may be other objects
		}
		f := aboutApplication(app, ruleHooksOnly, finding.Warning,
			"Application %s applies nothing but hooks, so that Argo CD counts it as Synced from the start: its automated sync never runs %s", app.Name, all[0].Resource.Human())
		f.Basis = finding.Rendered
		f.Fix.Summary = "add an object that is no hook and that changes with the hooks, such as a ConfigMap; or apply the Job as no hook"
		for _, o := range all {
			f.Evidence = append(f.Evidence, where(o.Position, "%s is a hook", o.Resource.Human()))
		}
		out = append(out, f)
	}
	return out
}

// isParent reports whether an Application applies other Applications or ApplicationSets.
func isParent(setup argo.Setup, name string) bool {
	return slices.ContainsFunc(setup.Applications, func(a argo.Application) bool { return a.Parent == name }) ||
		slices.ContainsFunc(setup.ApplicationSets, func(s argo.ApplicationSet) bool { return s.Parent == name })
}
