package argocd

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// findArchives finds the folders that somebody has put away, whose names alone do not say
// it: a folder "archive" beside other Applications, of which none names a path in it. No
// command applies anything from it, and no Application in it is called like it: an
// application of the name archive names its own folder, or itself.
func (r *Repository) findArchives(ctx context.Context, all []looked) {
	inside := map[string][]document{}
	var applies []document
	for i, l := range all {
		if !l.own || repofs.IsUnused(r.manifests[i]) {
			continue
		}
		file := r.manifests[i]
		for _, d := range split(l.values) {
			if !d.applies() {
				continue
			}
			applies = append(applies, d)
			if folder := mayBeArchive(file); folder != "" {
				inside[folder] = append(inside[folder], d)
			}
		}
	}
	if len(inside) == 0 {
		return
	}
	archived := 0
	for _, apps := range inside {
		archived += len(apps)
	}
	if archived == len(applies) {
		return // there is nothing else
	}
	r.archives = map[string]bool{}
	for folder, apps := range inside {
		called := func(d document) bool {
			return strings.Contains(strings.ToLower(d.name()), strings.ToLower(path.Base(folder)))
		}
		r.archives[folder] = !slices.ContainsFunc(apps, called)
	}
	for _, d := range applies {
		r.markNamed(d.value.At("spec"))
	}
	maps.DeleteFunc(r.archives, func(_ string, is bool) bool { return !is })
	if len(r.archives) > 0 { // to look for commands is work
		for file := range r.handed(ctx) {
			delete(r.archives, mayBeArchive(file))
		}
	}
}

// markNamed takes the folders for used ones that an Application or a set names.
func (r *Repository) markNamed(v *yamldoc.Value) {
	if v == nil {
		return
	}
	text := path.Clean("/"+v.Text) + "/"
	for folder := range r.archives {
		// The platform may be a part of a repository.
		if v.Text != "" && strings.Contains(text, "/"+folder+"/") {
			r.archives[folder] = false
		}
	}
	for _, item := range v.Items {
		r.markNamed(item)
	}
	for _, e := range v.Entries {
		r.markNamed(e.Value)
	}
}

// mayBeArchive is the first folder above a file whose name may say that it is put away;
// empty where there is none.
func mayBeArchive(file string) string {
	folders := strings.Split(path.Dir(file), "/")
	i := slices.IndexFunc(folders, func(name string) bool { return repofs.MayBeArchive(strings.ToLower(name)) })
	if i < 0 {
		return ""
	}
	return strings.Join(folders[:i+1], "/")
}

// isArchived reports whether a file lies in a folder that somebody has put away.
func (r *Repository) isArchived(file string) bool {
	return repofs.IsArchived(file) || r.archives[mayBeArchive(file)]
}

// isUnused reports whether a file is in a folder that nobody applies.
func (r *Repository) isUnused(file string) bool { return repofs.IsFixture(file) || r.isArchived(file) }
