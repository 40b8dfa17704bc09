package importcmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/importer"
)

// fluxOptions are the arguments of "ladder import flux".
type fluxOptions struct {
	Options

	Clusters []string
}

func newFlux(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &fluxOptions{}
	cmd := &cobra.Command{
		Use:   "flux [PATH]",
		Short: "Turn Flux Kustomizations and HelmReleases into descriptors",
		Long: `Turn Flux Kustomizations and HelmReleases into descriptors. Each HelmRelease becomes
a component, and what a Kustomization applies beside HelmReleases another. dependsOn
of both kinds becomes requirements; what a Kustomization applies inherits its own.

Clusters are environments: the folders that flux bootstrap or a FluxInstance syncs.
Intervals have no equivalent. Encrypted objects and values of Secrets are listed.`,
		Example: `  ladder import flux . --out platform
  ladder import flux . --out platform --cluster production --infer`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), streams, global, args)
		},
	}
	o.register(cmd, false)
	cmd.Flags().StringSliceVar(&o.Clusters, "cluster", nil, "clusters to import (default: all)")
	return cmd
}

func (o *fluxOptions) run(ctx context.Context, streams *stream.Streams, global *flags.Global, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	tree, path, err := repository(o.Path)
	if err != nil {
		return source.Coded(err)
	}
	target, err := importer.NewTarget(o.Out)
	if err != nil {
		return source.Coded(err)
	}
	p, err := importer.FromFlux(ctx, tree, importer.FluxOptions{Path: path, Clusters: o.Clusters, Target: target})
	if err != nil {
		return source.Coded(err)
	}
	return o.finish(ctx, streams, global, "flux", p, target)
}
