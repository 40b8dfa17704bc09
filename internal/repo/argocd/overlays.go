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

// overlays lists the kustomizations that yield Applications and that no other
// kustomization includes, sorted.
func (r *Repository) overlays() []string {
	candidates := slices.Clone(r.kustomized)
	slices.Sort(candidates)
	candidates = slices.DeleteFunc(slices.Compact(candidates), func(dir string) bool {
		return r.isUnused(dir+"/") || !r.yieldsFrom(r.closure(dir), document.applies)
	})
	included := map[string]bool{}
	for _, dir := range candidates {
		for _, p := range r.closure(dir) {
			if p != dir {
				included[p] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(candidates), func(dir string) bool { return included[dir] || isLeftBase(dir, candidates) })
}

// isLeftBase reports whether a kustomization is a base beside overlays that nobody builds on: it is
// not applied for itself.
func isLeftBase(dir string, all []string) bool {
	overlays := path.Join(path.Dir(dir), "overlays") + "/"
	return path.Base(dir) == "base" && slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, overlays) })
}

// appliedByOthers finds the overlays that an Application of another one takes. What
// an overlay yields is looked at as it is built: its patches say which folder. Of
// overlays that take each other one stays.
func (r *Repository) appliedByOthers(ctx context.Context, overlays []string) map[string]bool {
	takes, applied := map[string][]string{}, map[string]bool{}
	var leads func(from, to string, seen map[string]bool) bool
	leads = func(from, to string, seen map[string]bool) bool {
		seen[from] = true
		return from == to || slices.ContainsFunc(takes[from], func(next string) bool { return !seen[next] && leads(next, to, seen) })
	}
	for _, dir := range overlays {
		for _, taken := range r.takenBy(ctx, dir) {
			if slices.Contains(overlays, taken) && !leads(taken, dir, map[string]bool{}) {
				applied[taken] = true
				takes[dir] = append(takes[dir], taken)
			}
		}
	}
	return applied
}

// takenBy lists the folders that the Applications of an overlay take. What is wrong
// with the overlay is told when its environment is read.
func (r *Repository) takenBy(ctx context.Context, overlay string) []string {
	documents, err := r.build(ctx, overlay, nil)
	if err != nil {
		return nil
	}
	var taken []string
	for _, d := range documents {
		var apps []document
		switch {
		case d.isApplication():
			apps = []document{d}
		case d.argo("ApplicationSet"):
			apps = r.expand(ctx, d)
		}
		for _, app := range apps {
			for _, s := range app.sources() {
				if dir, ok := r.local(s); ok {
					taken = append(taken, dir)
				}
			}
		}
	}
	return taken
}

// rootCharts are the charts that make Applications and that neither a source nor
// another chart takes.
func (r *Repository) rootCharts(taken map[string]bool) []entry {
	used := map[string]bool{}
	for dir := range r.charts {
		for _, dep := range r.dependencies(dir) {
			if local, ok := strings.CutPrefix(dep.TextAt("repository"), "file://"); ok {
				used[path.Join(dir, local)] = true
			}
		}
		for _, beside := range r.besideCharts(dir) {
			used[beside] = true
		}
	}
	var all []entry
	r.chartsAway = nil
	for _, dir := range slices.Sorted(maps.Keys(r.charts)) {
		if taken[dir] || used[dir] || r.inflates[dir] || r.isSubchart(dir) || r.isKustomization(dir) {
			continue
		}
		if r.isUnused(dir + "/") {
			if !repofs.IsFixture(dir+"/") && r.templateOf(dir, 0) != "" {
				r.chartsAway = append(r.chartsAway, dir)
			}
			continue
		}
		bundles := slices.ContainsFunc(r.dependencies(dir), func(v *yamldoc.Value) bool { return isBundle(v.TextAt("name")) })
		if r.templateOf(dir, 0) != "" || bundles {
			all = append(all, entry{chart: rootChart{dir: dir}})
		}
	}
	slices.SortFunc(all, entry.compare)
	return all
}

// isSubchart reports whether a chart lies in the folder charts of another.
func (r *Repository) isSubchart(dir string) bool {
	for d := path.Dir(dir); d != "."; d = path.Dir(d) {
		if path.Base(d) == "charts" && r.charts[path.Dir(d)] {
			return true
		}
	}
	return false
}
