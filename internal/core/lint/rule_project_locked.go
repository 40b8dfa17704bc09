package lint

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// lockedProjects finds AppProjects that only an Application applies which is in them itself, or one
// below it: Argo CD syncs nothing of that Application before the project is there, so that it never
// is. Source: argo-cd, util/argo, ValidatePermissions.
func lockedProjects(in Input) []finding.Finding {
	// The chart may make projects as well.
	hidden := slices.ContainsFunc(in.Components, func(c model.Component) bool {
		return slices.Contains(in.Unrendered, c.Name) && slices.ContainsFunc(c.Sources, func(s model.Source) bool { return s.Name == "argocd-apps" })
	})
	if hidden {
		return nil
	}
	places := newPlaces(in.Argo)
	var out []finding.Finding
	for _, p := range in.Argo.Projects {
		several := slices.ContainsFunc(in.Argo.Projects, func(o argo.Project) bool { return o.Name == p.Name && o.Position != p.Position })
		if p.Parent == "" || p.Name == "default" || several {
			continue
		}
		way := places.ofProject(p)
		locked := func(l level) bool { return places[l.name].Project == p.Name && places[l.name].Set == "" }
		i := slices.IndexFunc(way[:len(way)-1], locked)
		if i < 0 || slices.ContainsFunc(way[:len(way)-1], func(l level) bool { return makesItself(places[l.name]) }) {
			continue // who applies the folder first applies the project with it
		}
		app := places[way[i].name]
		if in.createdProject(app, p.Name) || app.Position.File == p.Position.File {
			continue // who applies the file of the first applies the project with it
		}
		f := aboutApplication(app, ruleProjectLate, finding.Warning,
			"Application %s is in AppProject %s, which only %s applies: Argo CD syncs nothing of %s before the project is there, so that it never is", app.Name, p.Name, p.Parent, app.Name)
		f.Evidence = append(f.Evidence, where(p.Position, "AppProject %s is applied by %s", p.Name, p.Parent))
		f.Fix.Summary = "put " + app.Name + " into the project default, or have what applies it apply AppProject " + p.Name + " in an earlier sync wave"
		out = append(out, f)
	}
	return out
}

// makesItself reports whether an Application is among what it applies, or written in a folder of that.
func makesItself(app argo.Application) bool {
	return app.Self || slices.ContainsFunc(app.Sources, func(s argo.Source) bool {
		return s.Path != "" && (s.Path == "." || strings.HasPrefix(app.Position.File, strings.Trim(strings.TrimPrefix(s.Path, "./"), "/")+"/"))
	})
}
