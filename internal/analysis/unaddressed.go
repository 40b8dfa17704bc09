package analysis

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
)

// isUnaddressed reports whether nothing tells which repository a platform is: it has no
// remote of Git, and no component takes anything from it.
func isUnaddressed(p *repo.Platform) bool {
	here := func(s model.Source) bool { return s.RepoURL == "" }
	if slices.ContainsFunc(p.Components, func(c model.Component) bool { return slices.ContainsFunc(c.Sources, here) }) {
		return false
	}
	return !checkout.IsAddressed(p.Repository)
}
