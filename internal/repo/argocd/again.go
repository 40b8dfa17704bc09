package argocd

import (
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
	made := map[string]bool{}
	for _, d := range all {
		if d.isApplication() && (g.reached[d.key()] || inUse[d.key()]) {
			made[what(d)] = true
		}
	}
	for key, below := range g.below {
		for _, d := range below {
			if d.isApplication() && (g.reached[key] || inUse[key]) {
				made[what(d)] = true
			}
		}
	}
	kept = slices.DeleteFunc(roots, func(e entry) bool {
		if !isSet(e) || g.repository.byTerraform(e) != "" {
			return false
		}
		below := g.below[e.document.key()]
		doubles := len(below) > 0 && !slices.ContainsFunc(below, func(d document) bool { return !d.isApplication() || !made[what(d)] })
		if doubles {
			left = append(left, e.document)
		}
		return doubles
	})
	return kept, left
}

// what is an Application by its name and by where it comes from and goes to.
func what(app document) string {
	is := []string{app.name(), destination(app)}
	for _, s := range app.sources() {
		is = append(is, s.path()+" "+s.value.TextAt("chart"))
	}
	return strings.Join(is, "\n")
}
