package source

import (
	"context"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
)

// Only are the environments of the components that not every environment has, by name.
// It is for pictures: where something cannot be read nothing is said.
func Only(ctx context.Context, f flags.Source) map[string][]string {
	options := KeysOnly(f)
	options.Environment = ""
	all, err := analysis.OpenAll(ctx, f.Path, options)
	if err != nil || len(all) < 2 {
		return nil
	}
	in := map[string][]string{}
	for _, p := range all {
		for _, c := range p.Components {
			if c.Enabled {
				in[c.Name] = append(in[c.Name], p.Environment)
			}
		}
	}
	for name, environments := range in {
		if len(environments) == len(all) {
			delete(in, name)
		}
	}
	return in
}
