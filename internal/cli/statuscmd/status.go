// Package statuscmd is the command "ladder status".
package statuscmd

import (
	"bytes"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/running"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Options are the arguments of the command.
type Options struct {
	flags.Result
	running.Flags
	Engine        string
	ArgoNamespace string
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a running or finished rollout, and why what waits waits",
		Long: `Show the rollout that a cluster holds the state of, whether it runs or has
ended: where each component stands, what it waits for down to the root cause, and
how old the evidence is. It takes no lock and disturbs nothing. Where the cluster
holds none, or there is none, it is the one that a rehearsal left on a plane.

With --engine argocd it needs no rollout of Ladder: it follows the Applications
of Argo CD, also where RollingSync orders them, and says of each one that is not
Healthy why.

Exit codes: 0 the rollout runs or has succeeded, or every Application is Healthy;
1 it failed, was aborted or timed out, or there is none; 3 the cluster does not
answer.`,
		Example: `  ladder status --context dev
  ladder status -e prod --format json
  ladder status --plane rehearsal   # of ladder rehearse --keep
  ladder status --engine argocd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), streams, o) },
	}
	o.Result.Register(cmd, "text", "json")
	o.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Engine, "engine", "native", "native for what ladder rollout does, argocd to follow Argo CD itself")
	f.StringVar(&o.ArgoNamespace, "argocd-namespace", "argocd", "namespace of Argo CD, with --engine argocd")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions([]string{"native", "argocd"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// Register adds the flags of the rollout.
func (o *Options) Register(cmd *cobra.Command) { o.Flags.Register(cmd) }

func run(ctx context.Context, streams *stream.Streams, o *Options) error {
	if err := flags.OneOf("engine", o.Engine, "native", "argocd"); err != nil {
		return err
	}
	var b, commands bytes.Buffer // which are not folded
	var verdict error
	style := report.Style{Color: o.Output == "" && streams.Color(streams.OutTerminal)}
	if o.Engine == "argocd" {
		doc, err := follow(ctx, o)
		if err != nil {
			return err
		}
		if o.Format == "json" {
			err = report.JSON(&b, doc)
		} else {
			printApplications(&b, doc, style)
		}
		if err != nil {
			return err
		}
		if doc.Healthy < len(doc.Applications) {
			verdict = exit.Silent(exit.No)
		}
	} else {
		found, err := o.Find(ctx)
		if err != nil {
			return err
		}
		s, err := found.Read(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		doc := Of(s, now)
		if o.Format == "json" {
			err = report.JSON(&b, doc)
		} else {
			printStatus(&b, doc, s, now)
			printCommands(&commands, doc, s)
		}
		if err != nil {
			return err
		}
		if doc.Result != "running" && doc.Result != "succeeded" {
			verdict = exit.Silent(exit.No)
		}
	}
	content := b.String()
	if o.Format == "text" {
		content = streams.Folded(o.Output, content) + commands.String()
	}
	if err := streams.WriteResult(o.Output, []byte(content)); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	return verdict
}

// age prints how long ago something was; "-" for never.
func age(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return report.Clock(max(now.Sub(at), 0))
}
