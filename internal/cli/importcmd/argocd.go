package importcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/importer"
)

// argocdOptions are the arguments of "ladder import argocd".
type argocdOptions struct {
	Options

	Environments, Roots []string
}

func newArgoCD(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &argocdOptions{}
	cmd := &cobra.Command{
		Use:   "argocd [PATH]",
		Short: "Turn Argo CD Applications into descriptors",
		Long: `Turn Argo CD Applications of every kind into descriptors: single and multi source,
those of ApplicationSets, app-of-apps. Every step of the order that Argo CD keeps,
sync waves and RollingSync steps, becomes one phase; what stands together stays
together. With --infer the hard edges that the objects show become requirements.`,
		Example: `  ladder import argocd . --out platform
  ladder import argocd . --out platform --environment prod --infer`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), streams, global, args)
		},
	}
	o.register(cmd, false)
	f := cmd.Flags()
	f.StringSliceVarP(&o.Environments, "environment", "e", nil, "environments to import (default: all)")
	f.StringSliceVar(&o.Roots, "root", nil, "files and folders that are applied by hand (default: found)")
	return cmd
}

func (o *argocdOptions) run(ctx context.Context, streams *stream.Streams, global *flags.Global, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	target, err := importer.NewTarget(o.Out)
	if err != nil {
		return source.Coded(err)
	}
	display := progress.New(streams, global, time.Now)
	p, err := importer.FromArgoCD(ctx, importer.ArgoCDOptions{
		Path: o.Path, Environments: o.Environments, Target: target,
		Load: analysis.Options{Roots: source.Roots(flags.Source{Path: o.Path, Roots: o.Roots}), Offline: o.Offline, AllowHosts: o.AllowHosts, Progress: display.Counted},
	})
	display.Close()
	if err != nil {
		return source.Coded(err)
	}
	return o.finish(ctx, streams, global, "argocd", p, target)
}
