package flux

import (
	"path"
	"slices"
	"strings"
)

// gather finds the kustomizations that take releases of Helm and that no other one
// takes, where no Kustomization of Flux says what is synced: whoever bootstraps a
// cluster makes one for its folder. Where some lie in a folder of clusters, the others
// are parts that no cluster takes.
func (l *loader) gather(s *searched, found []string) error {
	if len(s.kustomizations) > 0 || len(s.others) == 0 {
		return nil
	}
	releases, taken := map[string]bool{}, map[string]bool{}
	for _, w := range s.written {
		releases[w.Position.File] = true
	}
	before := len(l.result.Problems)
	defer func() { l.result.Problems = l.result.Problems[:before] }() // whoever reads the folder tells of them
	var all []string
	for _, file := range found {
		dir := path.Dir(file)
		if l.kustomizationFile(dir) != file {
			continue
		}
		seen := map[string]bool{}
		listed, err := l.listed(dir, seen, 0)
		if err != nil {
			return err
		}
		for other := range seen {
			taken[other] = taken[other] || other != dir
		}
		if slices.ContainsFunc(listed, func(file string) bool { return releases[file] }) {
			all = append(all, dir)
		}
	}
	all = slices.DeleteFunc(all, func(dir string) bool { return taken[dir] })
	inClusters := func(dir string) bool { return slices.Contains(strings.Split(path.Dir(dir), "/"), "clusters") }
	if slices.ContainsFunc(all, inClusters) {
		all = slices.DeleteFunc(all, func(dir string) bool { return !inClusters(dir) })
	}
	slices.Sort(all)
	s.gathered = all
	return nil
}
