package argocd

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// inTree is a chart of the repository.
type inTree struct{ name, version, dir string }

// besideCharts are the folders of the repository with charts that a chart depends on by an address, by
// their names: those that are published from here under that name, in a version that is asked for.
func (r *Repository) besideCharts(dir string) map[string]string {
	var found map[string]string
	for _, dep := range r.dependencies(dir) {
		name, address := dep.TextAt("name"), dep.TextAt("repository")
		if name == "" || address == "" || strings.HasPrefix(address, "file://") {
			continue
		}
		var fits []string
		for _, c := range r.chartsInTree()[name] {
			if c.dir != dir && isInRange(c.version, dep.TextAt("version")) {
				fits = append(fits, c.dir)
			}
		}
		if len(fits) != 1 {
			continue
		}
		if found == nil {
			found = map[string]string{}
		}
		found[name] = fits[0]
	}
	return found
}

// chartsInTree are the charts of the repository by name, but for those that are vendored in another.
func (r *Repository) chartsInTree() map[string][]inTree {
	if r.inTree != nil {
		return r.inTree
	}
	r.inTree = map[string][]inTree{}
	for _, dir := range slices.Sorted(maps.Keys(r.charts)) {
		file := path.Join(dir, "Chart.yaml")
		if path.Base(path.Dir(dir)) == "charts" && r.charts[path.Dir(path.Dir(dir))] || r.isUnused(file) {
			continue
		}
		data, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		if v, err := yamldoc.ParseOne(file, data); err == nil && v.TextAt("name") != "" {
			name := v.TextAt("name")
			r.inTree[name] = append(r.inTree[name], inTree{name, v.TextAt("version"), dir})
		}
	}
	return r.inTree
}

// isInRange reports whether a version is one that a range asks for.
func isInRange(version, wanted string) bool {
	v, err := semver.NewVersion(version)
	if err != nil {
		return false
	}
	c, err := semver.NewConstraint(wanted)
	return err == nil && c.Check(v)
}

// tellBeside tells of the charts that are taken from the repository.
func (r *Repository) tellBeside(d document, dir string, dependencies map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		r.assumed(d.position(), d.name(), "the chart %s that %s depends on by an address is taken to be that of %s, which has its name and version", name, dir, dependencies[name])
	}
}
