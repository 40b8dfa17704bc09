// Package inventory is the command "ladder inventory".
package inventory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result

	Title string
	Check bool
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "inventory [PATH]",
		Short: "List the components by phase, and the steps with maxUpdate and readiness gate",
		Long: `List every component of an environment by its place in the ladder, disabled ones
included, and the steps with maxUpdate and readiness gate. What a component is for,
and what it requires of those that come later, is told by what the repository
itself holds: charts of other places are not rendered.

As a picture the ladder is drawn in boxes, one frame per phase or wave, for
documents. With --check the command changes nothing and exits with 1 when the
file given by --output differs from what would be written.

Exit code 1: the file is stale, or the repository has error findings. An order that
contradicts a requirement is marked and changes no exit code: lint and plan judge it.`,
		Example: `  ladder inventory
  ladder inventory --environment prod --format json
  ladder inventory -e all
  ladder inventory --output docs/inventory.md
  ladder inventory --output docs/inventory.md --check
  ladder inventory --format picture`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.RegisterEach(cmd, &o.Source)
	o.Result.Register(cmd, "markdown", "json", "picture")
	cmd.Flags().StringVar(&o.Title, "title", "", "title of the picture")
	cmd.Flags().BoolVar(&o.Check, "check", false, "fail when the file given by --output is stale")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if o.Check && o.Output == "" {
		return exit.With(exit.Usage, errors.New("--check needs --output FILE, the file to compare with"))
	}
	if err := source.CheckAll(o.Source, o.Format); err != nil {
		return err
	}
	if err := source.Ask(ctx, &o.Source); err != nil {
		return err
	}
	all, err := source.LoadLocal(ctx, streams, global, o.Source)
	if err != nil {
		return err
	}
	var parts []source.Part
	var only map[string][]string
	if o.Format == "picture" {
		only = source.Only(ctx, o.Source)
	}
	wrong, said := 0, source.Said{}
	for _, loaded := range all {
		p := loaded.Platform
		findings := slices.Concat(p.Findings, lint.WithoutPhases(loaded.Lint(), lint.Options{Levels: p.Lint.Rules}))
		wrong += source.PrintFindings(streams.Err, o.Source, said.New(findings), source.Least(global))
		content, err := one(loaded, only, o)
		if err != nil {
			return err
		}
		parts = append(parts, source.Part{Environment: p.Environment, Content: content})
	}
	content, err := source.Join(o.Source, o.Format, parts)
	if err != nil {
		return err
	}
	if o.Check {
		err = check(streams, o.Output, content)
	} else {
		if o.Format == "markdown" { // of lists, which mean the same when they are folded
			content = []byte(streams.Folded(o.Output, string(content)))
		}
		err = streams.WriteResult(o.Output, content)
	}
	if err != nil {
		return err
	}
	if wrong > 0 {
		return exit.Silent(exit.No)
	}
	return nil
}

// one is the inventory of one environment.
func one(loaded *analysis.Result, only map[string][]string, o *Options) ([]byte, error) {
	input := session.PlanInput(loaded, rollout.Phases, nil, 0)
	input.Only = only
	p, err := plan.Build(input)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	p.Against = session.Milder(loaded, p.Against, finding.Warning) // what lint tells is marked
	inv, err := plan.TakeInventory(p, input, infer.Declared(loaded.Platform.Components))
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	var b bytes.Buffer
	switch o.Format {
	case "json":
		err = report.JSON(&b, report.InventoryDocument(inv))
	case "picture":
		title := o.Title
		if title == "" {
			title = "ROLLOUT ORDER OF " + inv.Environment
		}
		err = report.InventoryPicture(&b, inv, title)
	default:
		err = report.InventoryMarkdown(&b, inv)
	}
	return b.Bytes(), err
}

func check(streams *stream.Streams, file string, want []byte) error {
	have, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return exit.With(exit.Usage, fmt.Errorf("read %s: %w", file, err))
	}
	if bytes.Equal(have, want) {
		return nil
	}
	fmt.Fprintf(streams.Err, "%s is stale; write it anew with the same command without --check\n", file)
	return exit.Silent(exit.No)
}
