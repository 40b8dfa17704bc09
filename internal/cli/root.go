package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/bootstrapcmd"
	"github.com/rollout-ladder/ladder/internal/cli/cataloguecmd"
	"github.com/rollout-ladder/ladder/internal/cli/diffcmd"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/explain"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/generatecmd"
	"github.com/rollout-ladder/ladder/internal/cli/historycmd"
	"github.com/rollout-ladder/ladder/internal/cli/importcmd"
	"github.com/rollout-ladder/ladder/internal/cli/initcmd"
	"github.com/rollout-ladder/ladder/internal/cli/inventory"
	"github.com/rollout-ladder/ladder/internal/cli/lintcmd"
	"github.com/rollout-ladder/ladder/internal/cli/newcmd"
	"github.com/rollout-ladder/ladder/internal/cli/orphanscmd"
	"github.com/rollout-ladder/ladder/internal/cli/plancmd"
	"github.com/rollout-ladder/ladder/internal/cli/planecmd"
	"github.com/rollout-ladder/ladder/internal/cli/rehearsecmd"
	"github.com/rollout-ladder/ladder/internal/cli/rendercmd"
	"github.com/rollout-ladder/ladder/internal/cli/rolloutcmd"
	"github.com/rollout-ladder/ladder/internal/cli/schemacmd"
	"github.com/rollout-ladder/ladder/internal/cli/smokecmd"
	"github.com/rollout-ladder/ladder/internal/cli/snapshotcmd"
	"github.com/rollout-ladder/ladder/internal/cli/statuscmd"
	"github.com/rollout-ladder/ladder/internal/cli/steercmd"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/cli/versioncmd"
	"github.com/rollout-ladder/ladder/internal/cli/watchcmd"
	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Main runs the command line and returns the exit code of the process. name is
// how the binary was called; as kubectl-ladder the help says "kubectl ladder".
func Main(name string, args []string, version string, streams *stream.Streams) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams = streams.Guarded()
	defer streams.Flush()
	root := NewRoot(name, version, streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return int(exit.OK)
	}
	code := exit.Of(err)
	switch message := err.Error(); {
	case ctx.Err() != nil && code == exit.Interrupted:
		// What the signal cut short explains nothing.
		fmt.Fprintln(streams.Err, "ladder: interrupted")
	case message != "":
		fmt.Fprintln(streams.Err, "ladder: "+finding.Redact(message))
	}
	return int(code)
}

// NewRoot returns the command tree.
func NewRoot(name, version string, streams *stream.Streams) *cobra.Command {
	streams = streams.Guarded()
	global := &flags.Global{}
	root := &cobra.Command{
		Use:   "ladder",
		Short: "Prove, plan and rehearse the rollout order of a Kubernetes platform",
		Long: `Ladder reads a GitOps repository as it is, infers what each component provides
and requires, and proves, plans and rehearses the order in which it rolls out.

  ladder lint .            what is wrong with the order, with evidence
  ladder plan .            the order, the steps, the critical path, the time
  ladder rehearse .        the whole rollout on a Kubernetes control plane
                           inside this binary: no cluster, no Docker

Exit codes: 0 fine; 1 a check or rollout failed; 2 wrong usage or unreadable
input; 3 could not run; 4 timed out; 130 interrupted (state saved).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			// Cobra checks these later, with an error that has no exit code.
			if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
				return exit.With(exit.Usage, wrongFlags(cmd, err))
			}
			if err := errors.Join(global.Validate(), flags.Format(cmd), flags.Target(cmd)); err != nil {
				return err
			}
			return confined(cmd.Context(), streams, global)
		},
	}
	if strings.HasPrefix(filepath.Base(name), "kubectl-") {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl ladder"}
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(unknownFlag)
	root.SetHelpFunc(folded(streams, root.HelpFunc()))
	global.Register(root)
	root.AddCommand(
		bootstrapcmd.New(streams, global),
		cataloguecmd.New(streams, global),
		historycmd.New(streams, global),
		orphanscmd.New(streams, global),
		planecmd.New(streams, global),
		rehearsecmd.New(streams, global),
		rolloutcmd.New(streams, global),
		schemacmd.New(streams),
		smokecmd.New(streams, global),
		snapshotcmd.New(streams, global),
		statuscmd.New(streams, global),
		versioncmd.New(streams, global, version),
		watchcmd.New(streams, global),
	)
	root.AddCommand(steercmd.New(streams, global)...)
	root.AddCommand(promptly(
		grace,
		diffcmd.New(streams, global),
		explain.New(streams, global),
		generatecmd.New(streams, global),
		importcmd.New(streams, global),
		initcmd.New(streams, global),
		inventory.New(streams, global),
		lintcmd.New(streams, global, version),
		newcmd.New(streams, global),
		plancmd.New(streams, global),
		rendercmd.New(streams, global),
	)...)
	root.InitDefaultCompletionCmd()
	helpUsage(root)
	group(root)
	usageErrors(root)
	return root
}

// confined says how what evaluates repositories is held. Where that is required and
// not to be had, the command does not begin.
func confined(ctx context.Context, streams *stream.Streams, global *flags.Global) error {
	var tell func(confine.Confinement)
	if global.Verbose {
		tell = func(c confine.Confinement) { fmt.Fprintln(streams.Err, "confinement: "+c.String()) }
	}
	evaluate.Workers.Configure(confine.Mode(global.Confine), tell)
	if confine.Mode(global.Confine) != confine.Required {
		return nil
	}
	_, err := evaluate.Workers.Confinement(ctx)
	return exit.With(exit.CouldNotRun, err)
}
