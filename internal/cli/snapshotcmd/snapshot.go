// Package snapshotcmd is the command "ladder snapshot".
package snapshotcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/argocd/snapshot"
	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// Options are the arguments of the command.
type Options struct {
	Cluster       cluster.Flags
	ArgoNamespace string
	Output        string
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Write down what the Argo CD of a cluster knows, without secrets",
		Long: `Write down what the Argo CD of a cluster knows: its settings, the names, addresses,
labels and annotations of its clusters, its projects, ApplicationSets and
Applications. With the file in ladder.yaml,

  repository:
    snapshot: argocd-snapshot.yaml

every command that reads the repository takes the clusters and the settings from
it, and assumes none. lint, plan, explain, inventory, render and init ask the cluster
themselves with --context.

The file has no secret and can be committed. It is made of what is listed to be
none: keys of the ConfigMaps, the name and address of a cluster, and of Applications,
ApplicationSets and AppProjects where their sources are, where they go and in which
order. Their values, parameters, patches and generators are left out. Labels and
annotations of clusters are taken, but for those whose name or look says that they
are secret: look at these once. --verbose names on stderr what was left out.

The same state makes the same bytes. Nothing in the cluster is changed: the command
gets ConfigMaps, and lists Secrets, Deployments and StatefulSets in the namespace of
Argo CD, and its objects in all namespaces.

Exit codes: 0 written; 2 wrong usage, or no Argo CD in the namespace; 3 the cluster
does not answer, or does not let something be read.`,
		Example: `  ladder snapshot --context hub --output argocd-snapshot.yaml
  ladder snapshot --context openshift --argocd-namespace openshift-gitops`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd.Context(), streams, global, o)
		},
	}
	o.Cluster.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.ArgoNamespace, "argocd-namespace", ladderfile.DefaultArgoCDNamespace, "namespace of Argo CD")
	f.StringVar(&o.Output, "output", "", "write the result to this `FILE` instead of stdout")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if err := stream.CheckResult(o.Output); err != nil {
		return exit.With(exit.Usage, err)
	}
	access, err := o.Cluster.Open(ctx)
	if err != nil {
		return err
	}
	if _, err := access.Reach(ctx); err != nil {
		return err
	}
	display := progress.New(streams, global, time.Now)
	display.Stage("reading " + access.Name)
	taken, err := snapshot.Take(ctx, access.REST, o.ArgoNamespace)
	display.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*snapshot.NoArgoCDError)):
		return exit.With(exit.Usage, fmt.Errorf("%w; --argocd-namespace says where it is", err))
	case err != nil:
		return exit.With(exit.CouldNotRun, err)
	}
	text, err := taken.YAML()
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	o.tell(streams, global, taken)
	return streams.WriteResult(o.Output, text)
}

// tell says what the file does not have.
func (o *Options) tell(streams *stream.Streams, global *flags.Global, taken *snapshot.Snapshot) {
	if global.Quiet {
		return
	}
	for _, unread := range taken.Unread {
		fmt.Fprintln(streams.Err, "not read: "+finding.Plain(unread))
	}
	if global.Verbose {
		for _, left := range taken.LeftOut {
			fmt.Fprintln(streams.Err, "left out, as it may be secret: "+finding.Plain(left))
		}
	} else if n := len(taken.LeftOut); n > 0 {
		fmt.Fprintf(streams.Err, "%d values that may be secret are left out; --verbose names them\n", n)
	}
}
