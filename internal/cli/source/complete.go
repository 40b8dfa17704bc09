package source

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// CompleteComponent completes the names of components as the first argument,
// and folders after it.
func CompleteComponent(f *flags.Source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return componentNames(cmd, ".", f), cobra.ShellCompDirectiveNoFileComp
	}
}

// componentNames lists the components of a platform with what they are; none
// where it cannot be read.
func componentNames(cmd *cobra.Command, path string, f *flags.Source) []string {
	p, err := repo.Open(cmd.Context(), path, repo.Options{Environment: f.Environment, Roots: Roots(*f)})
	if err != nil {
		return nil
	}
	var names []string
	for _, c := range p.Components {
		names = append(names, c.Name+"\t"+c.Order()+" "+string(c.Type))
	}
	return names
}

// CompleteFault completes --fail with the names of components, and with the
// faults after one.
func CompleteFault(cmd *cobra.Command, f *flags.Source) {
	_ = cmd.RegisterFlagCompletionFunc("fail", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if name, _, given := strings.Cut(typed, "="); given {
			var out []string
			for _, fault := range []settings.FaultKind{settings.NeverReady, settings.Crash, settings.Flap} {
				out = append(out, name+"="+string(fault))
			}
			return append(out, name+"=slow:5m"), cobra.ShellCompDirectiveNoFileComp
		}
		path := "."
		if len(args) > 0 {
			path = args[0]
		}
		return componentNames(cmd, path, f), cobra.ShellCompDirectiveNoFileComp
	})
}

// CompleteEnvironment completes --environment.
func CompleteEnvironment(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("environment", func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		path := "."
		if len(args) > 0 {
			path = args[len(args)-1]
		}
		names, err := repo.Environments(cmd.Context(), path)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}
