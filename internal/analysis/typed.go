package analysis

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/analysis/roles"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Typed are the components of the platform, each with the type that it has or that what it
// holds and its name tell. Rules go by what is written alone.
func (r *Result) Typed() []model.Component {
	all := slices.Clone(r.Platform.Components)
	for i := range all {
		c := &all[i]
		objects, rendered := r.Objects[c.Name]
		c.Type = roles.Of(c, r.Platform.Ladder.Bands, objects, rendered)
	}
	return all
}
