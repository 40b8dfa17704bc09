// Package bootstrapcmd is the command "ladder bootstrap".
package bootstrapcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/outcome"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result
	cluster.Flags

	Config            string
	Timeout           time.Duration
	DryRun            bool
	ResetCluster      bool
	ShowAdminPassword bool
	PortForward       bool

	given   bool // PATH
	version string
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "bootstrap --config FILE [PATH]",
		Short: "Take an empty cluster to a converging platform",
		Long: `Take an empty cluster to a converging platform, as a configuration says: make
the cluster (k3d or kind) where it does not exist, apply what comes before Argo
CD, the Secrets of repositories and registries, Argo CD itself, its settings,
projects and root Application, and wait until every band and its smokes hold.

Every stage looks at the cluster first and applies what differs, so the command
can be interrupted at any time and run again. What Argo CD has adopted is left
to it. Values of Secrets come from environment variables and files, and are
never printed.

With --dry-run nothing is changed: the stages say what they would do.

Exit codes: 0 the platform is up; 1 a stage failed; 2 wrong usage or unreadable
input, nothing was changed; 3 the cluster does not answer; 4 the time was over;
130 interrupted: run it again to go on.`,
		Example: `  ladder bootstrap --config bootstrap/dev.yaml --dry-run
  GITHUB_TOKEN=... ladder bootstrap --config bootstrap/dev.yaml
  ladder bootstrap --config bootstrap/dev.yaml --reset-cluster --show-admin-password --port-forward
  ladder bootstrap --config bootstrap/ci.yaml --format json --output bootstrap.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			o.given = len(args) > 0
			o.version = cmd.Root().Version
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	o.Result.Register(cmd, "text", "json")
	o.Flags.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Config, "config", "", "the bootstrap configuration (see ladder schema bootstrap)")
	f.DurationVar(&o.Timeout, "timeout", 0, "bound of the whole run (default: that of the configuration, else 45m)")
	f.BoolVar(&o.DryRun, "dry-run", false, "change nothing; say what would be done")
	f.BoolVar(&o.ResetCluster, "reset-cluster", false, "delete the cluster that the configuration makes, and make it anew")
	f.BoolVar(&o.ShowAdminPassword, "show-admin-password", false, "print the first password of Argo CD's admin")
	f.BoolVar(&o.PortForward, "port-forward", false, "forward a local port to Argo CD's web page afterwards, until interrupted")
	_ = cmd.MarkFlagRequired("config")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	config, err := o.check()
	if err != nil {
		return err
	}
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	path := ""
	if o.given {
		path = o.Path
	}
	done, err := bootstrap.Run(ctx, bootstrap.Options{
		Config: config, Path: path, Load: source.Options(o.Source), Connect: o.connect,
		DryRun: o.DryRun, ResetCluster: o.ResetCluster, ShowAdminPassword: o.ShowAdminPassword, Timeout: o.Timeout,
		LookupEnv: os.LookupEnv, Image: generate.Image(o.version), Say: display.Stage,
	})
	display.Close()
	if err != nil {
		return outcome.Coded(err)
	}
	if err := o.write(streams, done.Report); err != nil {
		return err
	}
	if err := verdict(done.Report.Result); err != nil {
		return err
	}
	if !o.PortForward || o.DryRun {
		return nil
	}
	return o.forward(ctx, streams, done, config.PortForward)
}

func (o *Options) check() (*bootstrap.Config, error) {
	if o.Timeout < 0 {
		return nil, exit.With(exit.Usage, errors.New("--timeout may not be negative"))
	}
	if err := stream.CheckResult(o.Output); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	config, err := bootstrap.Read(o.Config)
	if err != nil {
		return nil, source.Coded(err)
	}
	chosen := o.Kubeconfig != "" || o.Context != "" || o.Plane != ""
	switch {
	case o.ResetCluster && config.Cluster.Create == nil:
		return nil, exit.With(exit.Usage, errors.New("--reset-cluster deletes only a cluster that the configuration makes: it has no cluster.create"))
	case chosen && config.Cluster.Create != nil && o.ResetCluster:
		return nil, exit.With(exit.Usage, errors.New("--reset-cluster and the choice of another cluster do not go together"))
	case chosen:
		// A cluster that is named here is there already.
		config.Cluster = bootstrap.Cluster{}
	}
	return config, nil
}

// connect finds the cluster: that of the flags, else that of the configuration.
func (o *Options) connect(ctx context.Context, kubeconfig, name string) (*bootstrap.Access, error) {
	chosen := o.Flags
	if chosen == (cluster.Flags{}) {
		chosen.Kubeconfig, chosen.Context = kubeconfig, name
	}
	access, err := chosen.Open(ctx)
	if err != nil {
		if exit.Of(err) == exit.CouldNotRun {
			return nil, &bootstrap.UnreachableError{Err: err}
		}
		return nil, err
	}
	version, err := access.Reach(ctx)
	var silent *cluster.UnreachableError
	if errors.As(err, &silent) {
		return nil, &bootstrap.UnreachableError{Err: silent}
	}
	if err != nil {
		return nil, err
	}
	return &bootstrap.Access{REST: access.REST, Name: access.Name, Version: version, Simulated: access.Simulated(ctx)}, nil
}

func (o *Options) write(streams *stream.Streams, b report.Bootstrap) error {
	var text bytes.Buffer
	var err error
	if o.Format == "json" {
		err = report.JSON(&text, b)
	} else {
		err = report.BootstrapText(&text, b, report.Style{Color: o.Output == "" && streams.Color(streams.OutTerminal)})
	}
	if err == nil {
		err = streams.WriteFormat(o.Format, o.Output, text.Bytes())
	}
	return exit.With(exit.CouldNotRun, err)
}

// forward passes connections on until the command is interrupted, which is its
// good end.
func (o *Options) forward(ctx context.Context, streams *stream.Streams, done bootstrap.Outcome, to bootstrap.PortForward) error {
	err := done.Forward(ctx, to, func(address string) {
		fmt.Fprintf(streams.Err, "Argo CD is at https://%s until you interrupt this command\n", address)
	})
	return exit.With(exit.CouldNotRun, err)
}

func verdict(result string) error {
	switch result {
	case report.BootstrapSucceeded, report.BootstrapPlanned:
		return nil
	case report.BootstrapTimedOut:
		return exit.Silent(exit.TimedOut)
	case report.BootstrapUnreachable:
		return exit.Silent(exit.CouldNotRun)
	case report.BootstrapInterrupted:
		return exit.Silent(exit.Interrupted)
	default:
		return exit.Silent(exit.No)
	}
}
