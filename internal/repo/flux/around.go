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
	if dirs = slices.Compact(dirs); len(dirs) > maxCircle || len(s.declared) > maxCircle {
		return nil
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !s.leads(dir) })
	for _, dir := range dirs {
		for id, source := range s.sources {
			if path.Dir(source.position.File) == dir && !strings.HasPrefix(id, "HelmRepository/") {
				return []string{dir}
			}
		}
	}
	return dirs[:min(len(dirs), 1)]
}

// maxCircle bounds the folders and Kustomizations among which a first one is looked for.
const maxCircle = 200

// leads reports whether all Kustomizations come of those in a folder.
func (s *searched) leads(dir string) bool {
	reached, known := []string{dir}, map[string]bool{dir: true}
	for i := 0; i < len(reached); i++ {
		for j, d := range s.declared {
			if p := s.applied[j]; !known[p] && within(path.Dir(d.file), reached[i]) {
				reached, known[p] = append(reached, p), true
			}
		}
	}
	return !slices.ContainsFunc(s.kustomizations, func(k string) bool {
		return !slices.ContainsFunc(reached, func(r string) bool { return within(k, r) })
	})
}
