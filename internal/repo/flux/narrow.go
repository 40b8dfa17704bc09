package flux

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// narrow takes of a guessed root at the top of the repository only the files that hold Flux's
// objects outside the folders that its Kustomizations apply: nothing syncs the whole repository, of
// which these are a part, and somebody applies the files by hand.
func (l *loader) narrow(s *searched) {
	if l.tree.Rel(l.tree.Repository) != "." {
		return // the folder of the platform may be what is synced
	}
	for i := range s.found {
		r := &s.found[i]
		if !r.guessed || r.path != "." || l.kustomizationFile(".") != "" {
			continue
		}
		inside := slices.DeleteFunc(slices.Clone(s.applied), func(p string) bool { return p == "." || !within(p, ".") })
		if len(inside) > 0 {
			r.only = globOf(l.outside(s, inside))
		}
	}
}

// outside are the files with objects of Flux, beside Kustomizations and HelmReleases, that lie in none of
// some folders.
func (l *loader) outside(s *searched, folders []string) []string {
	var files []string
	for _, dir := range slices.Concat(s.kustomizations, s.others) {
		if slices.ContainsFunc(folders, func(p string) bool { return within(dir, p) }) {
			continue
		}
		names, err := l.tree.List(dir)
		if err != nil {
			continue // whoever reads the folder tells of it
		}
		for _, name := range names {
			file := path.Join(dir, name)
			if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" || slices.Contains(files, file) || repofs.IsUnused(file) {
				continue
			}
			if data, err := l.tree.Read(file); err == nil && concernsFlux(string(data)) {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return files
}

// globOf is a glob that matches some paths; empty where one of them holds what a glob reads otherwise.
func globOf(files []string) string {
	if len(files) == 0 || strings.ContainsAny(strings.Join(files, ""), `{}[]*?,\!`) {
		return ""
	}
	return "{" + strings.Join(files, ",") + "}"
}

// onlyOf are the files of the folder of the root that are applied, as a glob; empty for all, and of
// other folders.
func (l *loader) onlyOf(dir string) string {
	if dir != l.root.path {
		return ""
	}
	return l.root.only
}
