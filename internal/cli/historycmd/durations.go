package historycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/run/history"
)

// durationsOptions are the arguments of "ladder history durations".
type durationsOptions struct {
	from
	flags.Result

	Quantile string
	Last     int
}

func durations(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &durationsOptions{}
	cmd := &cobra.Command{
		Use:   "durations [ENTRY...]",
		Short: "Write how long components take, for --durations of plan and rehearse",
		Long: `Write the time of every component from start to Healthy over several runs: the
median, or with --quantile p90 the one that nine of ten runs keep. The result is
a file for --durations of ladder plan, ladder rehearse and ladder diff.

Without entries, all rollouts of the environment of the newest count; where there
are none, its rehearsals do, whose times are those of the simulation. Only the
components of the newest run are written.`,
		Example: `  ladder history durations --context production --output durations.yaml
  ladder plan --durations durations.yaml
  ladder history durations --format text`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, global, args) },
	}
	o.register(cmd)
	o.Register(cmd, "yaml", "json", "text", "markdown")
	f := cmd.Flags()
	f.StringVar(&o.Quantile, "quantile", "median", "which time is written: median or p90")
	f.IntVar(&o.Last, "last", 0, "only so many runs, the newest (default: all)")
	_ = cmd.RegisterFlagCompletionFunc("quantile", cobra.FixedCompletions([]string{"median", "p90"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *durationsOptions) run(ctx context.Context, streams *stream.Streams, global *flags.Global, args []string) error {
	if err := flags.OneOf("quantile", o.Quantile, "median", "p90"); err != nil {
		return err
	}
	if o.Last < 0 {
		return exit.With(exit.Usage, fmt.Errorf("--last %d is below zero", o.Last))
	}
	entries, err := o.chosen(ctx, streams, global, args)
	if err != nil {
		return err
	}
	if o.Last > 0 {
		entries = entries[:min(len(entries), o.Last)]
	}
	known, gone := history.Durations(entries)
	if len(known) == 0 {
		return exit.With(exit.Usage, errors.New("no component became Healthy in these runs"))
	}
	if len(gone) > 0 && !global.Quiet {
		fmt.Fprintf(streams.Err, "left out, not in the newest run: %s\n", strings.Join(gone, ", "))
	}
	var b bytes.Buffer
	switch o.Format {
	case "yaml":
		o.yaml(&b, entries, known)
	case "json":
		all := map[string]string{}
		for _, d := range known {
			all[d.Component] = o.value(d)
		}
		err = report.JSON(&b, all)
	default:
		err = history.DurationsText(&b, known, o.Format == "markdown")
	}
	if err != nil {
		return err
	}
	return exit.With(exit.CouldNotRun, streams.WriteFormat(o.Format, o.Output, b.Bytes()))
}

// chosen are the entries that count, the newest first.
func (o *durationsOptions) chosen(ctx context.Context, streams *stream.Streams, global *flags.Global, args []string) ([]history.Entry, error) {
	var entries []history.Entry
	for _, name := range args {
		e, err := o.find(ctx, streams, name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	if len(args) > 0 {
		return history.Merge(entries), nil
	}
	entries, problems, err := o.read(ctx, streams)
	if err != nil {
		return nil, err
	}
	warn(streams, global, problems)
	if len(entries) == 0 {
		return nil, exit.With(exit.Usage, errors.New("the history is empty; ladder history add REPORT keeps the report of a rollout or rehearsal"))
	}
	kind := "rehearsal"
	if slices.ContainsFunc(entries, func(e history.Entry) bool { return !e.Rehearsal() }) {
		kind = "rollout"
	}
	entries = slices.DeleteFunc(entries, func(e history.Entry) bool { return e.Kind() != kind })
	environment := entries[0].Report.Environment
	return slices.DeleteFunc(entries, func(e history.Entry) bool { return e.Report.Environment != environment }), nil
}

// yaml writes the file of --durations.
func (o *durationsOptions) yaml(b *bytes.Buffer, entries []history.Entry, known []history.Duration) {
	newest, oldest := entries[0], entries[len(entries)-1]
	day := func(e history.Entry) string { return time.Time(e.Report.Started).UTC().Format(time.DateOnly) }
	runs := fmt.Sprintf("%d %ss", len(entries), newest.Kind())
	if len(entries) == 1 {
		runs = "1 " + newest.Kind()
	}
	fmt.Fprintf(b, "# From start to Healthy (%s), from %s of %s, %s to %s.\n", o.Quantile, runs, newest.Report.Environment, day(oldest), day(newest))
	for _, d := range known {
		fmt.Fprintf(b, "%q: %s # median %s, p90 %s, of %d\n", d.Component, o.value(d), report.Clock(d.Median), report.Clock(d.P90), d.Runs)
	}
}

func (o *durationsOptions) value(d history.Duration) string {
	if o.Quantile == "p90" {
		return d.P90.Round(10 * time.Millisecond).String()
	}
	return d.Median.Round(10 * time.Millisecond).String()
}
