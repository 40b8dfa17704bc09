// Package planecmd is the command "ladder plane".
package planecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
)

// defaultName is the plane that is meant when none is named.
const defaultName = "default"

// New returns the command with its sub-commands.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plane",
		Short: "Start and stop the embedded control plane on its own",
		Long: `The plane is a real Kubernetes control plane in one process: etcd, API server,
controller manager, scheduler, and a simulated world of nodes, storage and
operators. It has a default StorageClass, local-path. It listens on the loopback
only, and its data is thrown away when it goes down.`,
		Example: `  ladder plane up
  export KUBECONFIG=$(ladder plane kubeconfig --path)
  kubectl get nodes
  ladder plane down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(up(streams, global), down(streams), kubeconfig(streams), newList(streams))
	return cmd
}

func nameOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultName
}

func up(streams *stream.Streams, global *flags.Global) *cobra.Command {
	var nodes, port int
	cmd := &cobra.Command{
		Use:     "up [NAME]",
		Short:   "Start a plane that stays up after this command ends",
		Example: "  ladder plane up\n  ladder plane up second --nodes 5",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			registry, err := plane.DefaultRegistry()
			if err != nil {
				return exit.With(exit.CouldNotRun, err)
			}
			options := plane.Options{Nodes: nodes, Port: port}
			if global.Verbose {
				options.Log = streams.Err
			}
			p, started, err := registry.Up(cmd.Context(), nameOf(args), options)
			if err != nil {
				return coded(cmd.Context(), registry, err)
			}
			if started {
				if err := giveStorage(cmd.Context(), p); err != nil {
					return exit.With(exit.CouldNotRun, err)
				}
			}
			switch {
			case global.Quiet:
			case started:
				fmt.Fprintf(streams.Err, "plane %s is up after %s at %s\n", p.Name, report.Clock(p.ReadyAfter), p.Server)
			default:
				fmt.Fprintf(streams.Err, "plane %s is up already, since %s\n", p.Name, p.Started.Format(time.RFC3339))
			}
			_, err = fmt.Fprintln(streams.Out, p.Kubeconfig)
			return err
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", 0, "number of simulated nodes (default 3)")
	cmd.Flags().IntVar(&port, "port", 0, "port of the API server on the loopback (default: a free one)")
	return cmd
}

// giveStorage makes the default StorageClass that clusters come with.
func giveStorage(ctx context.Context, p *plane.Plane) error {
	access, err := p.RESTConfig()
	if err != nil {
		return err
	}
	return rehearse.MakeDefaultClass(ctx, access)
}

func down(streams *stream.Streams) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:               "down [NAME]",
		Short:             "Stop a plane and throw its data away",
		Example:           "  ladder plane down\n  ladder plane down --all",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			registry, err := plane.DefaultRegistry()
			if err != nil {
				return exit.With(exit.CouldNotRun, err)
			}
			names := []string{nameOf(args)}
			if all {
				if names, err = running(cmd.Context(), registry); err != nil {
					return coded(cmd.Context(), registry, err)
				}
			}
			for _, name := range names {
				if err := registry.Down(cmd.Context(), name); err != nil {
					return coded(cmd.Context(), registry, err)
				}
				fmt.Fprintf(streams.Err, "plane %s is down\n", name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop every plane")
	return cmd
}

func kubeconfig(streams *stream.Streams) *cobra.Command {
	var path bool
	cmd := &cobra.Command{
		Use:               "kubeconfig [NAME]",
		Short:             "Print the kubeconfig of a plane",
		Example:           "  kubectl --kubeconfig <(ladder plane kubeconfig) get pods -A\n  export KUBECONFIG=$(ladder plane kubeconfig --path)",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			registry, err := plane.DefaultRegistry()
			if err != nil {
				return exit.With(exit.CouldNotRun, err)
			}
			p, err := registry.Get(cmd.Context(), nameOf(args))
			if err != nil {
				return coded(cmd.Context(), registry, err)
			}
			if path {
				_, err := fmt.Fprintln(streams.Out, p.Kubeconfig)
				return err
			}
			text, err := os.ReadFile(p.Kubeconfig)
			if err != nil {
				return exit.With(exit.CouldNotRun, fmt.Errorf("read the kubeconfig of plane %s: %w", p.Name, err))
			}
			_, err = streams.Out.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&path, "path", false, "print the path of the file instead of its content")
	return cmd
}

func running(ctx context.Context, registry *plane.Registry) ([]string, error) {
	planes, err := registry.List(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range planes {
		names = append(names, p.Name)
	}
	return names, nil
}

func completeNames(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := running(cmd.Context(), registry)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var matching []string
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			matching = append(matching, name)
		}
	}
	return matching, cobra.ShellCompDirectiveNoFileComp
}

// coded gives an error its exit code: a name that does not exist is wrong
// usage, all else could not run.
func coded(ctx context.Context, registry *plane.Registry, err error) error {
	var notFound *plane.NotFoundError
	var badName *plane.NameError
	switch {
	case errors.As(err, &notFound):
		return exit.With(exit.Usage, cluster.NotUp(ctx, registry, notFound))
	case errors.As(err, &badName):
		return exit.With(exit.Usage, err)
	case errors.Is(err, context.Canceled):
		return err
	default:
		return exit.With(exit.CouldNotRun, err)
	}
}
