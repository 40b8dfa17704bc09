package argocd

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// isPassedThrough reports whether an Application is written as parameters: an ApplicationSet reads
// its file, and generates one of its name from it.
func (r *Repository) isPassedThrough(d document) bool {
	if r.passing == nil {
		r.passing = []*regexp.Regexp{}
		for _, set := range r.sets {
			if strings.Contains(set.value.TextAt("spec", "template", "metadata", "name"), "metadata.name") {
				r.passing = append(r.passing, r.readBy(set.value.At("spec", "generators"), 0)...)
			}
		}
	}
	return d.isApplication() && slices.ContainsFunc(r.passing, func(files *regexp.Regexp) bool { return files.MatchString(d.position().File) })
}

// readBy are the patterns of the files of this repository that generators read.
func (r *Repository) readBy(generators *yamldoc.Value, depth int) (all []*regexp.Regexp) {
	if depth > deepest {
		return nil
	}
	for _, g := range generators.Elements() {
		if git := g.At("git"); git != nil && r.isOwnHead(git) {
			for _, item := range git.At("files").Elements() {
				if pattern, err := appset.GitPattern(item.TextAt("path")); err == nil {
					all = append(all, pattern)
				}
			}
		}
		for _, key := range []string{"matrix", "merge"} {
			all = append(all, r.readBy(g.At(key, "generators"), depth+1)...)
		}
	}
	return all
}
