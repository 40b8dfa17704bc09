// Package orphanscmd is the command "ladder orphans".
package orphanscmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/orphans"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result
	Cluster cluster.Flags

	Namespaces  []string
	Plan        string
	Apply       string
	Yes         bool
	IncludeData bool
	Timeout     time.Duration
	ExitCode    bool
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "orphans [PATH]",
		Short: "Find live objects that no component renders, and plan to delete or adopt them",
		Long: `Find the objects in the ladder's namespaces, and of the cluster-wide kinds that it
renders, that no component renders: what Helm, kubectl or an earlier state of the
repository left behind. Each has its origin and a proposal: delete, where it is
proven that nobody renders it any more; adopt, where a component could render it;
look, where a decision is needed. Children of other objects, what operators made
and what the cluster brings are no orphans.

The command only reads metadata, and changes nothing. --plan writes the proposals
to a file; change them as you see fit, and --apply deletes what the file says,
after it has looked again: the very objects that were found, in the reverse of the
order in which they were applied, custom resources before their operators.
Namespaces, CRDs, claims and volumes stay without --include-data, and what
components render objects in is never deleted.

What the cluster does not let be read is named: then there is no "none".

Exit codes: 0 looked, or deleted; 1 with --exit-code, there are orphans; 2 wrong
usage or unreadable input; 3 the cluster does not answer, something could not be
deleted, or with --exit-code, none was found and not everything could be read; 4
objects were still being deleted when the time was up.`,
		Example: `  ladder orphans --context staging --environment staging
  ladder orphans --context staging --plan orphans.yaml
  ladder orphans --context staging --apply orphans.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	o.Result.Register(cmd, "text", "json")
	o.Cluster.Register(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&o.Namespaces, "namespace", nil, "look into this namespace as well; may be repeated")
	f.StringVar(&o.Plan, "plan", "", "write the proposals to this file, to be changed and applied")
	f.StringVar(&o.Apply, "apply", "", "delete what this file of --plan says, after asking")
	f.BoolVar(&o.Yes, "yes", false, "with --apply: do not ask")
	f.BoolVar(&o.IncludeData, "include-data", false, "with --apply: delete namespaces, CRDs, claims and volumes as well")
	f.DurationVar(&o.Timeout, "timeout", 2*time.Minute, "with --apply: how long objects of one kind of stage may take to be gone")
	f.BoolVar(&o.ExitCode, "exit-code", false, "exit with 1 when there are orphans")
	cmd.MarkFlagsMutuallyExclusive("plan", "apply")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if err := o.check(streams); err != nil {
		return err
	}
	var plan orphans.Plan
	if o.Apply != "" {
		var err error
		if plan, err = orphans.ReadPlan(o.Apply); err != nil {
			return exit.With(exit.Usage, err)
		}
	}
	access, err := o.Cluster.Open(ctx)
	if err != nil {
		return err
	}
	if _, err := access.Reach(ctx); err != nil {
		return err
	}
	c, err := orphans.NewCluster(access.Name, access.REST)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	loaded, err := source.Load(ctx, streams, global, o.Source)
	if err != nil {
		return err
	}
	display := progress.New(streams, global, time.Now)
	display.Stage("reading " + access.Name)
	found, err := c.Find(ctx, o.ladder(ctx, loaded))
	display.Close()
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if o.Apply != "" {
		return o.apply(ctx, streams, global, c, plan, found)
	}
	return o.write(streams, c, found)
}

// check refuses arguments that do not go together.
func (o *Options) check(streams *stream.Streams) error {
	for _, file := range []string{o.Output, o.Plan} {
		if err := stream.CheckResult(file); err != nil {
			return exit.With(exit.Usage, err)
		}
	}
	switch {
	case o.Apply == "" && (o.Yes || o.IncludeData):
		return exit.With(exit.Usage, errors.New("--yes and --include-data go with --apply"))
	case o.Apply != "" && !o.Yes && !streams.ErrTerminal:
		return exit.With(exit.Usage, errors.New("--apply asks before it deletes, and there is no terminal to ask on; --yes deletes without asking"))
	case o.Timeout <= 0:
		return exit.With(exit.Usage, errors.New("--timeout must be above zero"))
	}
	return nil
}

// ladder is what the repository says.
func (o *Options) ladder(ctx context.Context, loaded *analysis.Result) orphans.Ladder {
	l := orphans.Ladder{
		Environment: loaded.Platform.Environment, Rollout: session.KeyOf(loaded.Platform).String(), Components: loaded.Platform.Components, Objects: loaded.Objects, Partial: loaded.Partial,
		ArgoNamespaces: loaded.Platform.Namespaces, Namespaces: o.Namespaces,
	}
	for _, u := range loaded.Unrendered {
		l.Unrendered = append(l.Unrendered, u.Component)
	}
	slices.Sort(l.Unrendered)
	l.Unrendered = slices.Compact(l.Unrendered)
	l.Disabled = func(name string) []manifest.Object {
		options := source.KeysOnly(o.Source)
		options.Environment = loaded.Platform.Environment
		_, objects, err := analysis.One(ctx, o.Path, name, options)
		if err != nil {
			return nil // what it would render is not known
		}
		return objects
	}
	return l
}

func (o *Options) write(streams *stream.Streams, c *orphans.Cluster, found orphans.Report) error {
	var b bytes.Buffer
	var err error
	if o.Format == "json" {
		err = report.JSON(&b, found)
	} else {
		err = orphans.Text(&b, found)
	}
	if err != nil {
		return err
	}
	if o.Plan != "" {
		text, err := orphans.NewPlan(found, c.Server).YAML()
		if err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
		if err := streams.WriteResult(o.Plan, text); err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
	}
	if err := streams.WriteFormat(o.Format, o.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	switch {
	case o.ExitCode && len(found.Orphans) > 0:
		return exit.Silent(exit.No)
	case o.ExitCode && !found.Complete:
		return exit.With(exit.CouldNotRun, errors.New("whether there are orphans is not known: not everything could be read"))
	}
	return nil
}

// apply deletes what a plan says.
func (o *Options) apply(ctx context.Context, streams *stream.Streams, global *flags.Global, c *orphans.Cluster, plan orphans.Plan, found orphans.Report) error {
	if plan.Environment != found.Environment {
		return exit.With(exit.Usage, fmt.Errorf("%s is the plan of environment %s, not of %s", o.Apply, plan.Environment, found.Environment))
	}
	if server := orphans.NewPlan(orphans.Report{}, c.Server).Server; plan.Server != server {
		return exit.With(exit.Usage, fmt.Errorf("%s is the plan of the cluster at %s, and %s is at %s", o.Apply, plan.Server, c.Name, server))
	}
	chosen, stay := orphans.Choose(plan, found, o.IncludeData)
	for _, s := range stay {
		fmt.Fprintf(streams.Err, "stays: %s: %s\n", report.Plain(s.Resource.Human()), s.Reason)
	}
	if len(chosen) == 0 {
		_, err := fmt.Fprintln(streams.Out, "Nothing to delete.")
		return err
	}
	if !o.Yes {
		for _, victim := range chosen {
			fmt.Fprintf(streams.Err, "  %s\n", report.Plain(victim.Resource.Human()))
		}
		fmt.Fprintf(streams.Err, "Delete %s of %s? Type %d to do it: ", finding.Count(len(chosen), "object"), c.Name, len(chosen))
		if !confirmed(streams.In, len(chosen)) {
			fmt.Fprintln(streams.Err, "Nothing was deleted.")
			return exit.Silent(exit.No)
		}
	}
	deleted := 0
	err := c.Remove(ctx, chosen, orphans.Removal{Timeout: o.Timeout, Told: told(streams, global, &deleted)})
	if _, printed := fmt.Fprintf(streams.Out, "%d of %s deleted.\n", deleted, finding.Count(len(chosen), "object")); err == nil {
		err = printed
	}
	var left *orphans.LeftError
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &left):
		return exit.With(exit.TimedOut, err)
	default:
		return exit.With(exit.CouldNotRun, err)
	}
}
