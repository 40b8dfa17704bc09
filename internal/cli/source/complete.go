package source

import (
	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/intake"
)

// CompleteComponent completes the names of components as the first argument,
// and folders after it.
func CompleteComponent(f *flags.Source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		p, err := intake.Open(cmd.Context(), ".", intake.Options{Environment: f.Environment})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, c := range p.Components {
			names = append(names, c.Name+"\t"+c.Order()+" "+string(c.Type))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteEnvironment completes --environment.
func CompleteEnvironment(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("environment", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		path := "."
		if len(args) > 0 {
			path = args[len(args)-1]
		}
		names, err := intake.Environments(cmd.Context(), path)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}
