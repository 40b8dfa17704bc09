// Package lintcmd is the command "ladder lint".
package lintcmd

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/lint"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:     "lint [PATH]",
		Short:   "Prove the order of a repository, or show where it is wrong",
		Example: `  ladder lint`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd.Context(), streams, global, o)
		},
	}
	o.Source.Register(cmd)
	source.CompleteEnvironment(cmd)
	o.Result.Register(cmd, "text")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	loaded, err := source.Load(ctx, streams, global, o.Source)
	if err != nil {
		return err
	}
	p := loaded.Platform
	in := lint.Input{Environment: p.Environment, Ladder: p.Ladder, Components: p.Components, Edges: loaded.Edges, Findings: loaded.Findings}
	var b bytes.Buffer
	wrong := source.PrintFindings(&b, lint.Run(in, lint.Options{Levels: p.Lint.Rules}), finding.Info)
	if err := streams.WriteResult(o.Output, b.Bytes()); err != nil {
		return err
	}
	if wrong > 0 {
		return exit.Silent(exit.No)
	}
	return nil
}
