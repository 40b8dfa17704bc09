package argocd

import (
	"context"
	"path"
	"slices"
)

// notTaken reports of an object that nothing applies whether a kustomization in use has
// decided against it: one of Applications leaves its file out by a comment, or the one in
// the folder of a set does not name it, and a set of its name is applied, or one around that
// folder lists others one by one. A file that a comment of a kustomization has people apply
// is left out for that.
func (g *applied) notTaken(ctx context.Context, all []document, overlays []string) func(document) bool {
	r := g.repository
	used, named := g.used(overlays), map[string]bool{}
	lists := r.listing(used)
	for _, d := range all {
		named[d.name()] = named[d.name()] || d.argo("ApplicationSet") && g.reached[d.key()]
	}
	for _, below := range g.below {
		for _, d := range below {
			named[d.name()] = named[d.name()] || d.argo("ApplicationSet")
		}
	}
	return func(d document) bool {
		file := d.position().File
		if used[file] || r.isNamed(ctx, file) {
			return false
		}
		commented := func(dir string) bool {
			return used[dir] && r.yieldsFrom(r.closure(dir), func(o document) bool { return o.applies() && o.key() != d.key() })
		}
		if slices.ContainsFunc(r.commented[file], commented) {
			return true
		}
		if !d.argo("ApplicationSet") {
			return false
		}
		dir := path.Dir(file)
		// A kustomization that takes other sets of its folder would take this one, too.
		beside := func() bool {
			return slices.ContainsFunc(r.closure(dir), func(p string) bool {
				return path.Dir(p) == dir && slices.ContainsFunc(r.files[p], func(o document) bool { return o.argo("ApplicationSet") })
			})
		}
		return used[dir] && r.isKustomization(dir) && (named[d.name()] || beside() && !r.isHanded(ctx, file)) || lists(dir) && !r.isHanded(ctx, file)
	}
}

// listing reports of a folder without a kustomization whether one in use around it lists several
// files with Applications out of its subfolders: it would list those of this one, too.
func (r *Repository) listing(used map[string]bool) func(dir string) bool {
	known := map[string]bool{}
	var lists func(dir string) bool
	lists = func(dir string) bool {
		if dir == "." || r.isKustomization(dir) {
			return false
		}
		above := path.Dir(dir)
		if is, ok := known[above]; ok {
			return is
		}
		n := 0
		if used[above] && r.isKustomization(above) {
			for _, p := range r.closure(above) {
				if _, inside := below(above, p); inside && path.Dir(p) != above && slices.ContainsFunc(r.files[p], document.applies) {
					n++
				}
			}
		}
		known[above] = n > 1 || n == 0 && lists(above)
		return known[above]
	}
	return lists
}

// passedOver reports of an Application that nothing applies whether it lies in the folder
// of a kustomization in use that does not name it, or beside several that one names. One
// that takes this folder itself is why it is in use.
func (g *applied) passedOver(ctx context.Context, overlays []string) func(document) bool {
	r := g.repository
	used := g.used(overlays)
	listed := r.listed(used)
	return func(d document) bool {
		file := d.position().File
		dir := path.Dir(file)
		decides := used[dir] && r.isKustomization(dir) || listed[dir] > 1
		return decides && !used[file] && !r.isNamed(ctx, file) && !slices.ContainsFunc(d.sources(), func(s source) bool {
			own, ok := r.local(s)
			return ok && slices.Contains(r.closure(own), dir)
		})
	}
}

// besideTaken reports whether Applications take several folders beside that of an overlay, and
// not it, and what it applies leads to none of them: where it is applied by hand, commands say so.
func (g *applied) besideTaken(ctx context.Context, dir string) bool {
	r := g.repository
	beside := func(other string) bool { return other != dir && path.Dir(other) == path.Dir(dir) }
	n := 0
	for other := range g.folders {
		if beside(other) && r.isKustomization(other) {
			n++
		}
	}
	return n > 1 && path.Dir(dir) != "." && !slices.ContainsFunc(r.takenBy(ctx, dir), beside) && !g.leads(dir, beside) &&
		!slices.ContainsFunc(r.closure(dir), func(p string) bool { return r.isHanded(ctx, p) })
}

// leads reports whether what an overlay applies takes a folder, over any number of steps.
func (g *applied) leads(dir string, to func(folder string) bool) bool {
	seen := map[string]bool{}
	var visit func(all []document) bool
	visit = func(all []document) bool {
		return slices.ContainsFunc(all, func(d document) bool {
			if seen[d.key()] {
				return false
			}
			seen[d.key()] = true
			return slices.ContainsFunc(d.sources(), func(s source) bool {
				folder, ok := g.repository.local(s)
				return ok && to(folder)
			}) || visit(g.below[d.key()])
		})
	}
	return slices.ContainsFunc(g.repository.closure(dir), func(p string) bool { return visit(g.repository.files[p]) })
}

// withBelow adds to Applications that are left out those that only they apply.
func (g *applied) withBelow(leftOut []document) []document {
	seen := map[string]bool{}
	for _, d := range leftOut {
		seen[d.key()] = true
	}
	for i := 0; i < len(leftOut); i++ {
		for _, d := range g.below[leftOut[i].key()] {
			if d.applies() && !d.rendered && d.generated == nil && !seen[d.key()] && !g.reached[d.key()] {
				seen[d.key()] = true
				leftOut = append(leftOut, d)
			}
		}
	}
	return leftOut
}

// listed counts, by folder, the files with Applications that kustomizations in use name.
func (r *Repository) listed(used map[string]bool) map[string]int {
	listed := map[string]int{}
	for file, documents := range r.files {
		if used[file] && slices.ContainsFunc(documents, document.applies) {
			listed[path.Dir(file)]++
		}
	}
	return listed
}

// used are the folders and files of the kustomizations that an overlay or a source takes.
func (g *applied) used(overlays []string) map[string]bool {
	used := map[string]bool{}
	mark := func(dir string) {
		if used[dir] {
			return
		}
		for _, p := range g.repository.closure(dir) {
			used[p] = true
		}
	}
	for _, dir := range overlays {
		mark(dir)
	}
	for dir := range g.folders {
		mark(dir)
	}
	return used
}
