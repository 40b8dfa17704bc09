package smokecmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/selector"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// complete completes the names of components and the keys of properties.
func complete(ctx context.Context, environment string) ([]string, cobra.ShellCompDirective) {
	p, err := repo.Open(ctx, ".", repo.Options{Environment: environment})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var words []string
	for _, c := range p.Components {
		words = append(words, c.Name+"\t"+c.Order()+" "+string(c.Type))
	}
	for _, key := range selector.Properties() {
		words = append(words, key+"=")
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
