// Package historycmd is the command "ladder history".
package historycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/run/history"
)

// from says where entries are read from.
type from struct {
	cluster.Flags

	Folder string
	// Cluster reads the history of a cluster as well.
	Cluster     bool
	Environment string
	Kind        string
}

func (f *from) register(cmd *cobra.Command) {
	f.Register(cmd)
	set := cmd.Flags()
	set.StringVar(&f.Folder, "folder", "", "folder of the history (default: ladder/history in $XDG_STATE_HOME, else ~/.local/state)")
	set.BoolVar(&f.Cluster, "cluster", false, "read the history that rollouts left in the cluster as well")
	set.StringVarP(&f.Environment, "environment", "e", "", "only entries of this environment")
	set.StringVar(&f.Kind, "kind", "", "only rollouts, or only rehearsals: rollout or rehearsal")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"rollout", "rehearsal"}, cobra.ShellCompDirectiveNoFileComp))
}

// New returns the command with its sub-commands.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	// Without a sub-command it lists.
	cmd := list(streams, global)
	cmd.Use, cmd.Short = "history", "Past rollouts and rehearsals: list, show, compare two, durations per component"
	cmd.Long = `Reports of rollouts and rehearsals that are over. They are kept in a folder of
this machine (ladder history add), and rollouts leave theirs in the cluster
(--cluster, --context, --kubeconfig or --plane read it).

An entry is named by its identifier or the beginning of it, latest, latest~1 for
the one before, or the path of a report.`
	cmd.Example = `  ladder rehearse --report before.json && ladder history add before.json
  ladder history
  ladder history compare latest~1 latest
  ladder history durations --output durations.yaml`
	cmd.AddCommand(add(streams), list(streams, global), show(streams), compare(streams), durations(streams, global))
	return cmd
}

// folder is the history of this machine.
func folder(streams *stream.Streams, path string) (history.Folder, error) {
	if path != "" {
		return history.Folder{Path: path}, nil
	}
	f, err := history.DefaultFolder(streams.Getenv)
	return f, exit.With(exit.CouldNotRun, err)
}

// read reads the entries that the flags choose, the newest first.
func (f *from) read(ctx context.Context, streams *stream.Streams) ([]history.Entry, []history.Problem, error) {
	if f.Kind != "" {
		if err := flags.OneOf("kind", f.Kind, "rollout", "rehearsal"); err != nil {
			return nil, nil, err
		}
	}
	local, err := folder(streams, f.Folder)
	if err != nil {
		return nil, nil, err
	}
	entries, problems, err := local.List()
	if err != nil {
		return nil, nil, exit.With(exit.Usage, err)
	}
	if f.Cluster || f.Context != "" || f.Kubeconfig != "" || f.Plane != "" {
		remote, more, err := f.remote(ctx)
		if err != nil {
			return nil, nil, err
		}
		entries, problems = history.Merge(entries, remote), append(problems, more...)
	}
	entries = slices.DeleteFunc(entries, func(e history.Entry) bool {
		return f.Environment != "" && e.Report.Environment != f.Environment || f.Kind != "" && e.Kind() != f.Kind
	})
	return entries, problems, nil
}

func (f *from) remote(ctx context.Context) ([]history.Entry, []history.Problem, error) {
	access, err := f.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err := access.Reach(ctx); err != nil {
		return nil, nil, err
	}
	client, err := corev1client.NewForConfig(access.REST)
	if err != nil {
		return nil, nil, exit.With(exit.Usage, fmt.Errorf("use the kubeconfig: %w", err))
	}
	entries, problems, err := history.FromCluster(ctx, client)
	return entries, problems, exit.With(exit.CouldNotRun, err)
}

// find finds one entry: the report of a file, else among those that are read.
func (f *from) find(ctx context.Context, streams *stream.Streams, name string) (history.Entry, error) {
	if info, err := os.Stat(name); strings.HasSuffix(name, ".json") || err == nil && !info.IsDir() {
		e, err := history.ReadFile(name)
		return e, exit.With(exit.Usage, err)
	}
	entries, _, err := f.read(ctx, streams)
	if err != nil {
		return history.Entry{}, err
	}
	e, err := history.Find(entries, name)
	if errors.Is(err, history.ErrNone) {
		err = fmt.Errorf("%w; ladder history lists them", err)
	}
	return e, exit.With(exit.Usage, err)
}

func add(streams *stream.Streams) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "add REPORT...",
		Short:   "Keep the JSON reports of rollouts or rehearsals",
		Example: "  ladder rehearse --report report.json\n  ladder history add report.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keep, err := folder(streams, path)
			if err != nil {
				return err
			}
			// Nothing is kept unless all can be.
			var entries []history.Entry
			for _, file := range args {
				e, err := history.ReadFile(file)
				if err != nil {
					return exit.With(exit.Usage, err)
				}
				entries = append(entries, e)
			}
			for i, e := range entries {
				kept, fresh, err := keep.Add(e.Report)
				if err != nil {
					return exit.With(exit.CouldNotRun, err)
				}
				if !fresh {
					fmt.Fprintf(streams.Err, "%s is kept already\n", args[i])
				}
				if _, err := fmt.Fprintln(streams.Out, kept.ID); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&path, "folder", "", "folder of the history (default: ladder/history in $XDG_STATE_HOME, else ~/.local/state)")
	return cmd
}

// view is what a command shows: as JSON, and as text or Markdown.
type view struct {
	document any
	text     func(b *bytes.Buffer, markdown bool) error
}

// showing makes a command that shows something of the history.
func showing(streams *stream.Streams, cmd *cobra.Command, look func(ctx context.Context, f *from, result flags.Result, args []string) (view, error)) *cobra.Command {
	var f from
	var result flags.Result
	f.register(cmd)
	result.Register(cmd, "text", "markdown", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := stream.CheckResult(result.Output); err != nil {
			return exit.With(exit.Usage, err)
		}
		v, err := look(cmd.Context(), &f, result, args)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if result.Format == "json" {
			err = report.JSON(&b, v.document)
		} else {
			err = v.text(&b, result.Format == "markdown")
		}
		if err != nil {
			return err
		}
		return exit.With(exit.CouldNotRun, streams.WriteFormat(result.Format, result.Output, b.Bytes()))
	}
	return cmd
}

func list(streams *stream.Streams, global *flags.Global) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the entries, the newest first",
		Example: "  ladder history list --environment prod\n  ladder history list --context production --format json",
		Args:    cobra.NoArgs,
	}
	return showing(streams, cmd, func(ctx context.Context, f *from, _ flags.Result, _ []string) (view, error) {
		entries, problems, err := f.read(ctx, streams)
		if err != nil {
			return view{}, err
		}
		warn(streams, global, problems)
		l := history.NewList(entries, problems)
		return view{l, func(b *bytes.Buffer, markdown bool) error { return history.ListText(b, l, markdown) }}, nil
	})
}

func show(streams *stream.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ENTRY",
		Short:   "Show the report of one entry",
		Example: "  ladder history show latest\n  ladder history show 20261120T1855 --format json",
		Args:    cobra.ExactArgs(1),
	}
	return showing(streams, cmd, func(ctx context.Context, f *from, result flags.Result, args []string) (view, error) {
		e, err := f.find(ctx, streams, args[0])
		return view{e.Report, func(b *bytes.Buffer, markdown bool) error {
			if markdown {
				return report.RolloutMarkdown(b, e.Report)
			}
			return report.RolloutText(b, e.Report, report.Style{Color: result.Output == "" && streams.Color(streams.OutTerminal)})
		}}, err
	})
}

func compare(streams *stream.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two rollouts: makespan, phases, components, waits, failures",
		Long: `Compare two rollouts or rehearsals: the makespan, the share of it in which
nothing was in flight, every phase, and every component by how much its time
changed, with its parts: from unblocked to started (QUEUE), to synced (SYNC), to
Healthy (SETTLE). New failures come first.

Times of runs at different speeds are multiplied by their speeds.`,
		Example: "  ladder history compare latest~1 latest\n  ladder history compare before.json after.json --format markdown",
		Args:    cobra.ExactArgs(2),
	}
	return showing(streams, cmd, func(ctx context.Context, f *from, _ flags.Result, args []string) (view, error) {
		before, err := f.find(ctx, streams, args[0])
		if err != nil {
			return view{}, err
		}
		after, err := f.find(ctx, streams, args[1])
		c := history.Compare(before, after)
		return view{c, func(b *bytes.Buffer, markdown bool) error { return history.CompareText(b, c, markdown) }}, err
	})
}

// warn says which parts of a history could not be read.
func warn(streams *stream.Streams, global *flags.Global, problems []history.Problem) {
	if global.Quiet {
		return
	}
	for _, p := range problems {
		fmt.Fprintf(streams.Err, "left out: %s\n", p.Reason)
	}
}
