package flux

import (
	"path"
	"slices"
	"strings"
)

// around finds the folder that a cluster starts with where every folder with Kustomizations is
// applied by another one, in a circle: what was applied by hand once, and keeps itself up to
// date since. It is one that leads to all others, and best one with a source.
func (s *searched) around() []string {
	dirs := slices.Clone(s.kustomizations)
	slices.Sort(dirs)
	dirs = slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return !s.leads(dir) })
	for _, dir := range dirs {
		for id, source := range s.sources {
			if path.Dir(source.position.File) == dir && !strings.HasPrefix(id, "HelmRepository/") {
				return []string{dir}
			}
		}
	}
	return dirs[:min(len(dirs), 1)]
}

// leads reports whether all Kustomizations come of those in a folder.
func (s *searched) leads(dir string) bool {
	reached := []string{dir}
	for i := 0; i < len(reached); i++ {
		for j, d := range s.declared {
			if within(path.Dir(d.file), reached[i]) && !slices.Contains(reached, s.applied[j]) {
				reached = append(reached, s.applied[j])
			}
		}
	}
	return !slices.ContainsFunc(s.kustomizations, func(k string) bool {
		return !slices.ContainsFunc(reached, func(r string) bool { return within(k, r) })
	})
}
