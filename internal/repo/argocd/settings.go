package argocd

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// globalProjects is the file, in generators of ConfigMaps, that lists the projects
// others inherit from.
const globalProjects = "globalProjects"

// readGlobalProjects reads a file that a generator puts into argocd-cm as the key
// globalProjects.
func (r *Repository) readGlobalProjects(file string) {
	data, err := r.tree.Read(file)
	if err != nil {
		return
	}
	if v, err := yamldoc.ParseOne(file, data); err == nil {
		r.installation.Global(v)
	}
}

// installed are the settings of the installation for an environment. Where something
// follows from what they lack, the files that are no manifests are asked as well:
// scripts, Terraform and the like may have it.
func (r *Repository) installed(s argo.Setup) argo.Settings {
	if r.ofAnother(s.Applications) {
		return argo.Settings{}
	}
	open := r.settings.Unordered() || r.settings.Started.File == "" && !r.settings.ProgressiveSyncs.On
	follows := open && slices.ContainsFunc(s.ApplicationSets, func(set argo.ApplicationSet) bool { return set.RollingSync }) ||
		slices.ContainsFunc(s.Applications, func(a argo.Application) bool {
			return slices.ContainsFunc(a.Needs, r.settings.Refuses) || slices.ContainsFunc(a.Needs, r.settings.Lacks) || !slices.Contains(r.settings.Namespaces, a.Namespace)
		})
	if !follows || r.searched {
		return r.settings
	}
	r.searched = true
	for _, file := range r.all {
		if _, ok := slices.BinarySearch(r.manifests, file); ok || isDocument(file) {
			continue
		}
		if data, err := r.tree.Read(file); err == nil {
			r.installation.Unread(file, data)
		}
	}
	r.settings = r.installation.Settings()
	return r.settings
}

// findStray finds settings that nothing reads where they are written. Rules of order tell of those
// that order something.
func (r *Repository) findStray() {
	for _, x := range r.settings.Stray {
		if slices.Contains([]string{argo.ProgressiveSyncsKey, argo.ApplicationHealthKey}, x.Key) {
			continue
		}
		f := newFinding(RuleUnknown, finding.Warning, x.Position, "", "%s stands in %s, where nothing reads it", x.Key, x.In)
		f.Fix.Summary = "move it to " + x.Home
		r.findings = append(r.findings, f)
	}
}

// ofAnother reports whether the settings here are those of an Argo CD beside the one that
// has the Applications: some lie where people install it, and the settings do not.
func (r *Repository) ofAnother(apps []argo.Application) bool {
	s := r.settings
	return len(s.Namespaces) > 0 && len(s.Watched) == 0 && s.WatchedUnread == "" && slices.ContainsFunc(apps, func(a argo.Application) bool {
		return a.Placed.File != "" && argo.IsCustomary(a.Namespace) && !slices.Contains(s.Namespaces, a.Namespace)
	})
}

// isDocument reports whether a file is for people, or holds what no person wrote.
func isDocument(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".md", ".adoc", ".rst", ".txt", ".html", ".tgz", ".gz", ".zip", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".ico", ".webp":
		return true
	}
	return false
}
