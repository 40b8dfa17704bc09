// Package diffcmd is the command "ladder diff".
package diffcmd

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/durations"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/diff"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result

	From, To  string
	Policy    string
	Durations string
	ExitCode  bool
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "diff A B [PATH]",
		Short: "Compare two revisions or environments: components, order, edges, objects, time",
		Long: `Compare two states of the platform: what they render to, not their text. Shown
are components that are added, removed, renamed or moved, the order that changes
with them, edges with their evidence, objects field by field, the expected time
with its critical path, and what a failure of a component would stop.

A and B are revisions of the Git repository (main, v1.2, HEAD~3), the work tree
as it is (.), or environments of the work tree (env:dev; dev where no revision is
called so). A revision in which the folder of the platform had another name is
written REVISION:FOLDER. Revisions are read into a temporary folder: neither the
work tree nor the repository is touched.

Values of Secrets, and others that may be secret, are never shown; that they
differ is. What cannot be rendered on one side is not compared, and said so.
With -e all, every environment is compared.

Exit codes: 0 compared; 1 with --exit-code, the two differ; 2 there is no such
revision, environment or folder, or it cannot be read.`,
		Example: `  ladder diff main .
  ladder diff v1.4 v1.5 platform --environment prod --format markdown
  ladder diff env:dev env:prod
  ladder diff origin/main HEAD -e all --exit-code`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.From, o.To = args[0], args[1]
			o.SetPath(args[2:])
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	source.TakesAll(cmd)
	o.Result.Register(cmd, "text", "markdown", "json")
	f := cmd.Flags()
	f.StringVar(&o.Policy, "policy", "", "policy of the expected times: phases, edges or serial (default: phases, for Flux edges)")
	f.StringVar(&o.Durations, "durations", "", "file of expected durations per component (JSON or YAML map, or a rollout report)")
	f.BoolVar(&o.ExitCode, "exit-code", false, "exit with 1 when the two differ")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{"phases", "edges", "serial"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) (err error) {
	if err := flags.Policy(o.Policy); err != nil {
		return err
	}
	if err := stream.CheckResult(o.Output); err != nil {
		return exit.With(exit.Usage, err)
	}
	expected, err := durations.Read(o.Durations)
	if err != nil {
		return err
	}
	l := &loader{streams: streams, global: global, options: o, expected: expected}
	defer func() { err = errors.Join(err, l.close()) }()
	all, err := l.compare(ctx)
	if err != nil {
		return source.Coded(err)
	}
	document := diff.NewDocument(all)
	var b bytes.Buffer
	switch o.Format {
	case "json":
		err = report.JSON(&b, document)
	case "markdown":
		err = diff.Markdown(&b, document)
	default:
		err = diff.Text(&b, document)
	}
	if err != nil {
		return err
	}
	if err := streams.WriteFormat(o.Format, o.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if o.ExitCode && document.Differs {
		return exit.Silent(exit.No)
	}
	return nil
}
