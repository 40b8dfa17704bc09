package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollout-ladder/ladder/internal/argocd/snapshot"
	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// namespaces are where Argo CD is looked for: its own, and that of OpenShift GitOps.
var namespaces = []string{ladderfile.DefaultArgoCDNamespace, "openshift-gitops"}

// Asks gives a command --context, which Ask answers.
func Asks(cmd *cobra.Command, f *flags.Source) {
	cmd.Flags().StringVar(&f.Hub, "context", "", "take clusters and settings from the Argo CD of this `CONTEXT` of the kubeconfig, and assume none")
	cmd.MarkFlagsMutuallyExclusive("context", "offline")
	_ = cmd.RegisterFlagCompletionFunc("context", cluster.CompleteContexts)
}

// Ask takes the snapshot of the cluster that --context names, before anything is read.
func Ask(ctx context.Context, f *flags.Source) error {
	if f.Hub == "" {
		return nil
	}
	access, err := cluster.Flags{Context: f.Hub}.Open(ctx)
	if err != nil {
		return err
	}
	if _, err := access.Reach(ctx); err != nil {
		return err
	}
	var refused error
	for _, namespace := range namespaces {
		taken, err := snapshot.Take(ctx, access.REST, namespace)
		switch {
		case errors.As(err, new(*snapshot.NoArgoCDError)):
			continue
		case apierrors.IsForbidden(err):
			refused = cmp.Or(refused, err) // it may be in the other one
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return exit.With(exit.CouldNotRun, err)
		}
		f.Known, err = taken.YAML()
		return exit.With(exit.CouldNotRun, err)
	}
	if refused != nil {
		return exit.With(exit.CouldNotRun, refused)
	}
	return exit.With(exit.Usage, fmt.Errorf("context %s has no Argo CD in the namespaces %s; ladder snapshot --argocd-namespace takes it from another, for ladder.yaml", f.Hub, strings.Join(namespaces, " and ")))
}
