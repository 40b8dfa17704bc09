package argocd

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// defaultName is the environment of a repository that tells none apart.
const defaultName = "default"

// Environment is one overlay of an app-of-apps.
type Environment struct {
	Name string
	// Overlay is the folder that yields the Applications; empty when roots or
	// single Applications do.
	Overlay string

	roots  []document
	single []document
	// unapplied are Applications that belong to no root.
	unapplied []document
}

// Environments finds the environments of a repository whose ladder file names
// none, sorted by name:
//
//   - every root Application, when roots are alternatives, that is when two of
//     them apply Applications of the same name; else all roots together;
//   - without roots, every top-level kustomization that yields Applications;
//   - without those, all Applications together.
func (r *Repository) Environments() ([]Environment, error) {
	roots, single, children, err := r.findRoots()
	if err != nil {
		return nil, err
	}
	if len(roots) > 0 {
		if !overlap(children) {
			return []Environment{{Name: defaultName, roots: roots, unapplied: single}}, nil
		}
		all := make([]Environment, len(roots))
		for i, root := range roots {
			all[i] = Environment{Name: r.rootName(root), roots: []document{root}, unapplied: single}
		}
		return unique(all), nil
	}
	overlays := r.overlays()
	if len(overlays) > 0 {
		all := make([]Environment, len(overlays))
		for i, dir := range overlays {
			all[i] = Environment{Name: path.Base(dir), Overlay: dir}
			if dir == "." {
				all[i].Name = defaultName
			}
		}
		return unique(all), nil
	}
	if len(single) > 0 {
		return []Environment{{Name: defaultName, single: single}}, nil
	}
	return nil, nil
}

// findRoots sorts the Applications into roots, which apply Applications and are
// applied by none, and single ones, which neither apply nor are applied.
// children are the names that each root applies.
func (r *Repository) findRoots() (roots, single []document, children []map[string]bool, err error) {
	applied := map[string]bool{}
	yields := make([]yield, len(r.applications))
	// Looking for roots reads every source once more than reading an
	// environment does: what is left out is reported then.
	before := len(r.findings)
	for i, app := range r.applications {
		if yields[i], err = r.yieldApplication(app); err != nil {
			return nil, nil, nil, err
		}
		for _, child := range yields[i].applications() {
			applied[child.name()] = true
		}
	}
	r.findings = r.findings[:before]
	for i, app := range r.applications {
		if applied[app.name()] {
			continue
		}
		below := yields[i].applications()
		if len(below) == 0 {
			single = append(single, app)
			continue
		}
		names := map[string]bool{}
		for _, child := range below {
			names[child.name()] = true
		}
		roots, children = append(roots, app), append(children, names)
	}
	return roots, single, children, nil
}

// overlap reports whether two sets share a name.
func overlap(sets []map[string]bool) bool {
	seen := map[string]bool{}
	for _, set := range sets {
		for name := range set {
			if seen[name] {
				return true
			}
		}
		for name := range set {
			seen[name] = true
		}
	}
	return false
}

// rootName names the environment of a root: the last folder of its source.
func (r *Repository) rootName(root document) string {
	for _, s := range root.sources() {
		if dir, ok := r.local(s); ok && dir != "." {
			return path.Base(dir)
		}
	}
	return root.name()
}

// overlays lists the kustomizations that yield Applications and that no other
// kustomization includes, sorted.
func (r *Repository) overlays() []string {
	candidates := slices.Clone(r.kustomized)
	slices.Sort(candidates)
	candidates = slices.DeleteFunc(slices.Compact(candidates), func(dir string) bool {
		return !slices.ContainsFunc(r.closure(dir), func(p string) bool { return len(r.files[p]) > 0 })
	})
	included := map[string]bool{}
	for _, dir := range candidates {
		for _, p := range r.closure(dir) {
			if p != dir {
				included[p] = true
			}
		}
	}
	return slices.DeleteFunc(candidates, func(dir string) bool { return included[dir] })
}

// unique gives environments of the same name the names of their folders
// instead, and sorts them.
func unique(all []Environment) []Environment {
	count := map[string]int{}
	for _, e := range all {
		count[e.Name]++
	}
	for i, e := range all {
		if count[e.Name] < 2 {
			continue
		}
		if e.Overlay != "" {
			all[i].Name = strings.ReplaceAll(e.Overlay, "/", "-")
		} else {
			all[i].Name = e.roots[0].name()
		}
	}
	slices.SortFunc(all, func(a, b Environment) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Overlay, b.Overlay))
	})
	return all
}
