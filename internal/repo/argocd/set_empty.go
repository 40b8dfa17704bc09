package argocd

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// makesNothing tells of a set whose git generators find nothing, so that its Applications
// are missing without a word. Whether somebody still applies the set, or another branch
// has the folder, is not known: it is information.
func (r *Repository) makesNothing(set document) {
	item := pattern(set.value.At("spec", "generators"), 0)
	if item == nil {
		return
	}
	written := item.TextAt("path")
	what := "nothing in this repository matches " + written
	if folder := literal(written); folder != "" && !slices.ContainsFunc(r.paths, func(file string) bool { return strings.HasPrefix(file, folder) }) {
		what = "there is no folder " + folder + " for " + written
	}
	f := newFinding(RuleMissing, finding.Info, set.position(), set.name(), "the ApplicationSet %s generates no Application: %s", set.name(), what)
	f.Fix.Summary = "correct the path, or remove the set"
	r.findings = append(r.findings, f)
}

// deepest bounds how far generators are nested.
const deepest = 4

// pattern is the first path that a git generator looks for.
func pattern(generators *yamldoc.Value, depth int) *yamldoc.Value {
	if depth > deepest {
		return nil
	}
	for _, g := range generators.Elements() {
		for _, key := range []string{"directories", "files"} {
			for _, item := range g.At("git", key).Elements() {
				if p := item.TextAt("path"); p != "" && item.TextAt("exclude") != "true" && !strings.Contains(p, "{{") {
					return item
				}
			}
		}
		for _, key := range []string{"matrix", "merge"} {
			if found := pattern(g.At(key, "generators"), depth+1); found != nil {
				return found
			}
		}
	}
	return nil
}

// literal is the folder of a pattern before its first sign, with a slash at its end;
// empty where there is none.
func literal(p string) string {
	p = path.Clean(strings.TrimPrefix(p, "/"))
	if i := strings.IndexAny(p, "*?[{\\"); i >= 0 {
		p = p[:i]
	}
	i := strings.LastIndex(p, "/")
	return p[:i+1]
}
