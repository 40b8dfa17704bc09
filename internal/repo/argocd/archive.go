package argocd

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
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
	templates := map[string]int{} // that make Applications, by the folder that may be put away
	for i, l := range all {
		if !l.own || repofs.IsUnused(r.manifests[i]) {
			continue
		}
		file := r.manifests[i]
		if l.templated {
			templates[mayBeArchive(file)]++
		}
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
	elsewhere := len(applies) + templates[""]
	for _, apps := range inside {
		elsewhere -= len(apps)
	}
	delete(templates, "")
	if len(inside)+len(templates) == 0 {
		return
	}
	r.archives = map[string]bool{}
	if elsewhere == 0 { // there is nothing else, so that a name alone does not say it
		for folder, apps := range inside {
			r.archives[folder] = !strings.Contains(folder, "/") && !slices.ContainsFunc(apps, r.takesAnything)
		}
		return
	}
	for folder := range templates {
		r.archives[folder] = !r.isSaidElsewhere(folder)
	}
	for folder, apps := range inside {
		called := func(d document) bool {
			return strings.Contains(strings.ToLower(d.name()), strings.ToLower(strings.TrimLeft(path.Base(folder), "0123456789-_.")))
		}
		if said, ok := r.archives[folder]; !ok || said {
			r.archives[folder] = !slices.ContainsFunc(apps, called)
		}
	}
	for _, d := range applies {
		r.markNamed(d.value.At("spec"))
	}
	maps.DeleteFunc(r.archives, func(_ string, is bool) bool { return !is })
	if len(r.archives) > 0 { // to look for commands is work
		for file, command := range r.handed(ctx) {
			if folder := mayBeArchive(file); mayBeArchive(command.File) != folder {
				delete(r.archives, folder) // a script that is put away with it says nothing
			}
		}
	}
}

// takesAnything reports whether one of the folders that an Application takes is there: a tree that was
// moved has none of them any more.
func (r *Repository) takesAnything(d document) bool {
	return slices.ContainsFunc(d.sources(), func(s source) bool {
		p := path.Clean(s.path())
		return s.path() == "" || r.tree.IsDir(p) || r.tree.IsFile(p)
	})
}

// isSaidElsewhere reports whether a file outside a folder that may make Applications of it, a
// chart's template or its values, holds the path of the folder.
func (r *Repository) isSaidElsewhere(folder string) bool {
	return slices.ContainsFunc(r.paths, func(file string) bool {
		if _, inside := below(folder, file); inside || !r.inTemplates(file) && !strings.HasPrefix(path.Base(file), "values") {
			return false
		}
		data, err := r.tree.Read(file)
		return err == nil && bytes.Contains(data, []byte(folder+"/"))
	})
}

// markNamed takes the folders for used ones that an Application or a set names.
func (r *Repository) markNamed(v *yamldoc.Value) {
	for folder := range r.archives {
		if namesFolder(v, folder) {
			r.archives[folder] = false
		}
	}
}

// namesFolder reports whether a text in a value is a path in a folder. The platform may be
// a part of a repository.
func namesFolder(v *yamldoc.Value, folder string) bool {
	if v == nil {
		return false
	}
	return v.Text != "" && strings.Contains(path.Clean("/"+v.Text)+"/", "/"+folder+"/") ||
		slices.ContainsFunc(v.Items, func(item *yamldoc.Value) bool { return namesFolder(item, folder) }) ||
		slices.ContainsFunc(v.Entries, func(e yamldoc.Entry) bool { return namesFolder(e.Value, folder) })
}

// PutAway reports whether an object of another tool, of a name, is put away with its file:
// as Applications in it would be.
func (r *Repository) PutAway(ctx context.Context, file, name string) bool {
	if r.isUnused(file) {
		return true
	}
	folder := mayBeArchive(file)
	if folder == "" || strings.Contains(strings.ToLower(name), strings.ToLower(path.Base(folder))) {
		return false
	}
	used, known := r.usedFolders[folder]
	if !known {
		used = slices.ContainsFunc(slices.Concat(r.applications, r.sets), func(d document) bool { return namesFolder(d.value.At("spec"), folder) })
		for file, command := range r.handed(ctx) {
			used = used || mayBeArchive(file) == folder && mayBeArchive(command.File) != folder
		}
		r.usedFolders[folder] = used
	}
	return !used
}

// Reads reports whether objects of a file are known, or an Application or a set names its folder, or
// one above it.
func (r *Repository) Reads(file string) bool {
	if len(r.files[file]) > 0 {
		return true
	}
	for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
		if slices.ContainsFunc(slices.Concat(r.applications, r.sets), func(d document) bool { return namesFolder(d.value.At("spec"), folder) }) {
			return true
		}
	}
	return false
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

// Unused are Applications that are not read because of where they lie.
type Unused struct {
	// Position is the first of them.
	Position finding.Position
	// Where says what folder it is: "that are put away".
	Where string
}

// Unused are the Applications that nobody applies by where they lie, one for each kind of such a folder.
func (r *Repository) Unused() []Unused {
	var all []Unused
	for _, kind := range []struct {
		is    func(file string) bool
		where string
	}{{repofs.IsFixture, "in the data of tests"}, {r.isArchived, "that are put away"}, {isExample, "in a folder of examples"}} {
		if i := slices.IndexFunc(r.unused, func(d document) bool { return kind.is(d.position().File) }); i >= 0 {
			all = append(all, Unused{r.unused[i].position(), kind.where})
		}
	}
	return all
}

// isArchived reports whether a file lies in a folder that somebody has put away.
func (r *Repository) isArchived(file string) bool {
	return repofs.IsArchived(file) || r.archives[mayBeArchive(file)]
}

// isUnused reports whether a file is in a folder that nobody applies.
func (r *Repository) isUnused(file string) bool { return repofs.IsFixture(file) || r.isArchived(file) }
