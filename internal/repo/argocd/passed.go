package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// isPassedThrough reports whether an Application is written as parameters: an ApplicationSet reads
// its file, and generates one of its name from it.
func (r *Repository) isPassedThrough(d document) bool {
	return d.isApplication() && slices.ContainsFunc(r.sets, func(set document) bool {
		return strings.Contains(set.value.TextAt("spec", "template", "metadata", "name"), "metadata.name") &&
			r.reads(set.value.At("spec", "generators"), d.position().File, 0)
	})
}

// reads reports whether one of the generators takes a file of this repository.
func (r *Repository) reads(generators *yamldoc.Value, file string, depth int) bool {
	if depth > deepest {
		return false
	}
	return slices.ContainsFunc(generators.Elements(), func(g *yamldoc.Value) bool {
		git := g.At("git")
		return git != nil && r.isOwnHead(git) && slices.ContainsFunc(git.At("files").Elements(), func(item *yamldoc.Value) bool {
			matches, err := appset.GitPattern(item.TextAt("path"))
			return err == nil && matches.MatchString(file)
		}) || r.reads(g.At("matrix", "generators"), file, depth+1) || r.reads(g.At("merge", "generators"), file, depth+1)
	})
}
