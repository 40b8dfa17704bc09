package argocd

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"
)

// again takes the sets that nothing applies and that make nothing but Applications which
// another root applies, of the same sources: they are another way to write these, and not
// in use.
func (g *applied) again(all []document, roots []entry) (kept []entry, left []document) {
	isSet := func(e entry) bool { return e.document.value != nil && e.document.argo("ApplicationSet") }
	inUse := map[string]bool{}
	for _, e := range roots {
		if e.document.value != nil {
			inUse[e.document.key()] = !isSet(e)
		}
	}
	// made says which keys make an Application.
	made := map[string][]string{}
	for _, d := range all {
		if key := d.key(); d.isApplication() && (g.reached[key] || inUse[key]) {
			made[what(d)] = append(made[what(d)], key)
		}
	}
	for key, below := range g.below {
		for _, d := range below {
			if d.isApplication() && (g.reached[key] || inUse[key]) {
				made[what(d)] = append(made[what(d)], key)
			}
		}
	}
	kept = slices.DeleteFunc(roots, func(e entry) bool {
		if !isSet(e) || g.repository.byTerraform(e) != "" {
			return false
		}
		// A set that applies itself over one of its Applications reaches all that it makes.
		below, own := g.below[e.document.key()], map[string]bool{}
		g.collect(e.document, own)
		own[e.document.key()] = true
		doubles := len(below) > 0 && !slices.ContainsFunc(below, func(d document) bool {
			return !d.isApplication() || !slices.ContainsFunc(made[what(d)], func(key string) bool { return !own[key] })
		})
		if doubles {
			left = append(left, e.document)
		}
		return doubles
	})
	return kept, left
}

// alternatives takes the roots that another root leaves out on purpose: beside each
// lies an Application of its name that is applied.
func (g *applied) alternatives(all []document, roots []entry, single []document) ([]entry, []document) {
	beside := func(d document) string { return path.Dir(d.position().File) + " " + d.name() }
	taken := map[string]bool{}
	for _, d := range all {
		if d.isApplication() && g.reached[d.key()] {
			taken[beside(d)] = true
		}
	}
	roots = slices.DeleteFunc(roots, func(e entry) bool {
		d := e.document
		left := d.value != nil && d.isApplication() && !g.reached[d.key()] && taken[beside(d)]
		if left {
			single = append(single, d)
		}
		return left
	})
	return roots, single
}

// withoutTerraformed leaves out the files of Applications that Terraform writes as objects of its own: it
// applies these, and who writes both has the file for those who do without it.
func (r *Repository) withoutTerraformed(ctx context.Context, roots []entry) []entry {
	same := func(d document) string { return d.value.TextAt("metadata", "namespace") + "\n" + what(d) }
	written := map[string]bool{}
	for _, e := range roots {
		if d := e.document; d.value != nil && d.isApplication() && r.byTerraform(e) != "" && !isManifest(d.position().File) {
			written[same(d)] = true
		}
	}
	return slices.DeleteFunc(roots, func(e entry) bool {
		d := e.document
		return d.value != nil && d.isApplication() && r.byTerraform(e) == "" && written[same(d)] && !r.isHanded(ctx, d.position().File)
	})
}

// withoutSame takes the Applications that are written twice among the roots of one environment:
// the one that its own folder applies counts, or else the first. others are those that say
// something else.
func (r *Repository) withoutSame(roots []entry) (kept []entry, others []document) {
	ofItself := func(d document) bool {
		return slices.ContainsFunc(d.sources(), func(s source) bool {
			dir, ok := r.local(s)
			return ok && slices.Contains(r.closure(dir), d.position().File)
		})
	}
	equal := func(a, b document) bool { return reflect.DeepEqual(a.value.At("spec").Any(), b.value.At("spec").Any()) }
	known := map[string][]int{} // of kept
	for _, e := range roots {
		d := e.document
		if d.value == nil || !d.isApplication() {
			kept = append(kept, e)
			continue
		}
		parts := []string{r.entryEnvironment(e), d.value.TextAt("metadata", "namespace"), what(d)}
		for _, s := range d.sources() {
			if to, ok := r.filled(s); ok {
				parts = append(parts, to) // the same blank is another folder in each template
			}
		}
		is := strings.Join(parts, "\n")
		i := slices.IndexFunc(known[is], func(i int) bool {
			return ofItself(d) != ofItself(kept[i].document) || equal(d, kept[i].document)
		})
		if i < 0 {
			known[is] = append(known[is], len(kept))
			kept = append(kept, e)
			continue
		}
		have := &kept[known[is][i]]
		if ofItself(d) {
			d, *have = have.document, e
		}
		if !equal(d, have.document) {
			others = append(others, d)
		}
	}
	return kept, others
}

// what is an Application by its name and by where it comes from and goes to.
func what(app document) string {
	is := []string{app.name(), destination(app)}
	for _, s := range app.sources() {
		is = append(is, s.path()+" "+s.value.TextAt("chart"))
	}
	return strings.Join(is, "\n")
}

// withoutTaken leaves kustomizations out that nothing refers to and of which Applications
// that are roots take every Application themselves, out of its own folder: as a root of its
// own each would be there twice.
func (g *applied) withoutTaken(roots []entry) []entry {
	taken := map[string]bool{}
	var visit func(d document)
	visit = func(d document) {
		for _, to := range g.below[d.key()] {
			if !taken[to.key()] {
				taken[to.key()] = true
				visit(to)
			}
		}
	}
	for _, e := range roots {
		if e.document.value != nil {
			visit(e.document)
		}
	}
	return slices.DeleteFunc(roots, func(e entry) bool {
		if e.folder == "" {
			return false
		}
		found := false
		for _, p := range g.repository.closure(e.folder) {
			for _, d := range g.repository.files[p] {
				if !d.applies() {
					continue
				}
				if _, inside := below(e.folder, d.position().File); !inside || !taken[d.key()] {
					return false
				}
				found = true
			}
		}
		return found
	})
}
