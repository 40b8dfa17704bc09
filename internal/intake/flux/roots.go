package flux

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// rootFolder is what a cluster starts with.
type rootFolder struct{ name, path string }

// roots finds the folders that clusters start with.
func (l *loader) roots() ([]rootFolder, error) {
	found, err := l.tree.Find(l.ctx, l.options.Path, func(name string) bool { return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") })
	if err != nil {
		return nil, err
	}
	s := &searched{}
	for _, file := range found {
		data, err := l.tree.Read(file)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(string(data), "fluxcd.io") {
			continue
		}
		documents, err := yamlpos.Parse(file, data)
		if err != nil {
			// A template of another tool, or a mistake: what applies it will tell.
			continue
		}
		for _, d := range documents {
			s.add(file, d)
		}
	}
	roots := s.roots()
	if len(roots) == 0 {
		return nil, &files.InputError{Message: l.options.Path + " holds no Kustomization or HelmRelease of Flux", Hint: "give the folder of a repository that Flux applies"}
	}
	return named(roots), nil
}

// searched are Flux's objects in the files of a repository.
type searched struct {
	// starts are folders that are said to be synced, applied those that any
	// Kustomization applies.
	starts, applied []string
	// kustomizations and others are the folders of files with objects of Flux.
	kustomizations, others []string
}

// add looks at one document.
func (s *searched) add(file string, d *yamlpos.Value) {
	group, _, _ := strings.Cut(d.TextAt("apiVersion"), "/")
	kind, dir := d.TextAt("kind"), path.Dir(file)
	switch {
	case group == groupInstance && kind == "FluxInstance":
		if p := d.TextAt("spec", "sync", "path"); p != "" && !strings.Contains(p, "$") {
			s.starts = append(s.starts, clean(p))
		}
	case group == groupKustomize && kind == "Kustomization":
		s.kustomizations = append(s.kustomizations, dir)
		if d.At("spec", "path") == nil {
			return
		}
		p := clean(d.TextAt("spec", "path"))
		s.applied = append(s.applied, p)
		if within(dir, p) {
			s.starts = append(s.starts, p)
		}
	case group == groupHelm && kind == "HelmRelease":
		s.others = append(s.others, dir)
	}
}

// within reports whether a folder is another, or lies below it.
func within(dir, other string) bool {
	return other == "." || dir == other || strings.HasPrefix(dir, other+"/")
}

// maxRoots is how many folders without anything that applies them are taken for
// clusters; where there are more, the repository is one.
const maxRoots = 50

// roots are the folders that are synced. Where none says so, they are those with
// Kustomizations that no Kustomization applies.
func (s *searched) roots() []rootFolder {
	tops := outermost(s.starts)
	if len(tops) == 0 {
		var free []string
		for _, dir := range s.kustomizations {
			if !slices.ContainsFunc(s.applied, func(p string) bool { return within(dir, p) }) {
				free = append(free, dir)
			}
		}
		tops = outermost(free)
	}
	if all := slices.Concat(s.kustomizations, s.others); len(all) > 0 && (len(tops) == 0 || len(tops) > maxRoots) {
		tops = []string{common(all)}
	}
	var out []rootFolder
	for _, p := range tops {
		out = append(out, rootFolder{path: p})
	}
	return out
}

// outermost are the folders that lie in no other of the list, sorted.
func outermost(all []string) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(slices.Clone(all), func(dir string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != dir && within(dir, other) })
	})
}

// common is the folder that holds all folders.
func common(all []string) string {
	if len(all) == 0 {
		return "."
	}
	parts := strings.Split(all[0], "/")
	for _, dir := range all[1:] {
		other := strings.Split(dir, "/")
		n := 0
		for n < len(parts) && n < len(other) && parts[n] == other[n] {
			n++
		}
		parts = parts[:n]
	}
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

// clean makes a path of Flux one relative to the root of the repository.
func clean(p string) string { return path.Clean("./" + strings.TrimPrefix(p, "/")) }

// named gives roots the names of their folders; where two have one name, of their
// whole paths.
func named(all []rootFolder) []rootFolder {
	count := map[string]int{}
	base := func(p string) string {
		parts := slices.DeleteFunc(strings.Split(p, "/"), func(part string) bool {
			return slices.Contains([]string{".", "flux", "flux-system", "cluster", "clusters", "kubernetes", "k8s", "gitops", "config"}, part)
		})
		if len(parts) == 0 {
			return "main"
		}
		return parts[len(parts)-1]
	}
	for _, r := range all {
		count[base(r.path)]++
	}
	for i, r := range all {
		all[i].name = base(r.path)
		if count[all[i].name] > 1 {
			all[i].name = strings.ReplaceAll(strings.Trim(r.path, "./"), "/", "-")
		}
	}
	return all
}
