package argocd

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/intake/files"
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
	below := make([]map[string]bool, len(r.applications))
	// Looking for roots reads every source once more than reading an
	// environment does: what is left out is reported then.
	before := len(r.findings)
	for i, app := range r.applications {
		y, err := r.yieldApplication(app)
		switch {
		case err == nil:
			below[i] = applicationNames(y.applications())
		case len(files.InputErrors(err)) > 0:
			// One broken overlay must not hide the others: it is refused when
			// its environment is read.
			below[i] = r.writtenBelow(app)
		default:
			return nil, nil, nil, err
		}
		for name := range below[i] {
			applied[name] = true
		}
	}
	r.findings = r.findings[:before]
	for i, app := range r.applications {
		switch {
		case applied[app.name()]:
		case len(below[i]) == 0:
			single = append(single, app)
		default:
			roots, children = append(roots, app), append(children, below[i])
		}
	}
	return roots, single, children, nil
}

func applicationNames(documents []document) map[string]bool {
	names := map[string]bool{}
	for _, d := range documents {
		if d.isApplication() {
			names[d.name()] = true
		}
	}
	return names
}

// writtenBelow lists the Applications in the files of the kustomizations of an
// Application, as they are written.
func (r *Repository) writtenBelow(app document) map[string]bool {
	var documents []document
	for _, s := range app.sources() {
		dir, ok := r.local(s)
		if !ok {
			continue
		}
		for _, p := range r.closure(dir) {
			documents = append(documents, r.files[p]...)
		}
	}
	names := applicationNames(documents)
	delete(names, app.name())
	return names
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
