package cataloguecmd

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func newShow(streams *stream.Streams) *cobra.Command {
	result := &flags.Result{}
	cmd := &cobra.Command{
		Use:   "show CHART",
		Short: "Print what is known of a chart, whole",
		Example: `  ladder catalogue show cert-manager
  ladder catalogue show argo-cd > ladder/argo-cd.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeChart,
		RunE: func(_ *cobra.Command, args []string) error {
			return show(streams, args[0], result)
		},
	}
	result.Register(cmd, "yaml")
	return cmd
}

func completeChart(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return charts(catalogue.New().Entries()), cobra.ShellCompDirectiveNoFileComp
}

func charts(entries []catalogue.Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Chart)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func show(streams *stream.Streams, chart string, o *flags.Result) error {
	c := catalogue.New()
	var found []catalogue.Entry
	for _, e := range c.Entries() {
		if e.Chart == chart {
			found = append(found, c.Whole(e))
		}
	}
	if len(found) == 0 {
		hint := cmp.Or(yamldoc.Meant(chart, charts(c.Entries())), "ladder catalogue list lists them, ladder catalogue record makes an entry")
		return exit.Usagef("the catalogue does not know the chart %q; %s", chart, hint)
	}
	text, err := yaml.Marshal(found)
	if err != nil {
		return exit.With(exit.CouldNotRun, fmt.Errorf("print the entry: %w", err))
	}
	return streams.WriteResult(o.Output, text)
}
