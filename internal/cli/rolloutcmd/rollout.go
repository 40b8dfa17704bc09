// Package rolloutcmd is the command "ladder rollout".
package rolloutcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/engine"
	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/durations"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/outcome"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/selector"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo/git"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result
	cluster.Flags
	steering.UpFront

	Engine          string
	Policy          string
	OnFailure       string
	From, To        string
	Only            []string
	Durations       string
	MaxInFlight     int
	Timeout         time.Duration
	AllowUnrendered bool
	KeepRemoved     bool
	Resume          bool
	Fresh           bool
	DryRun          bool
	Report          string
	ArgoNamespace   string
	Revision        string
	SelfHeal        string
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "rollout [PATH]",
		Short: "Roll the platform out to a cluster, health-gated",
		Long: `Roll the platform out to a cluster in the order of the ladder: a component
starts when everything it waits for was observed Healthy at this revision. The
engine native applies the objects itself, server-side; the engine argocd syncs
the Applications that exist, one operation each, pinned to one commit.

The state is in the cluster (namespace ladder-system): a rollout that was killed
goes on with --resume, from any machine, and a second one of the same platform
and environment is refused while the first runs. ladder status and ladder watch
show it from elsewhere; pause, resume, abort, approve and retry steer it.

--from, --to and --only narrow the rollout. What is outside is not touched: where
something selected requires it, it must be Healthy as it is, else the rollout
says so and does not start what requires it.

--dry-run asks the API server what would change, component by component in order,
and changes nothing: it names fields, never values.

On a terminal the keys are those of ladder rehearse: e, f, p, a and ?; Ctrl-C
asks what to do and stops nothing; twice it detaches with the state saved.

Exit codes: 0 succeeded; 1 failed or aborted; 2 unreadable input, or a step that
nobody approves; 3 the cluster does not answer, or another run holds the rollout;
4 timed out; 130 interrupted or detached (go on with --resume).`,
		Example: `  ladder rollout --context dev
  ladder rollout --context dev --dry-run
  ladder rollout --from 200 --to 299 --only 'data-*'
  ladder rollout --engine argocd --policy edges
  ladder rollout --resume`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd, args, streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	o.Result.Register(cmd, "text", "json", "markdown")
	o.Flags.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Engine, "engine", session.Native, "what applies: native or argocd")
	f.StringVar(&o.Policy, "policy", "", "phases, edges or serial (default: phases, for Flux edges)")
	f.StringVar(&o.OnFailure, "on-failure", "halt", "halt, or continue with what does not need the failed component")
	f.StringVar(&o.From, "from", "", "first phase that is rolled out")
	f.StringVar(&o.To, "to", "", "last phase that is rolled out")
	f.StringArrayVar(&o.Only, "only", nil, "roll out what this selector chooses (a name, data-*, type=smoke, band=platform); may be repeated")
	f.StringVar(&o.Durations, "durations", "", "file of expected durations per component (JSON or YAML map, or a rollout report)")
	f.IntVar(&o.MaxInFlight, "max-in-flight", 0, "most components in flight at once under the policy edges (default: the ladder's)")
	f.DurationVar(&o.Timeout, "timeout", 0, "bound of the whole rollout (default: none)")
	f.BoolVar(&o.AllowUnrendered, "allow-unrendered", false, "let components that cannot be rendered stand in as empty ones")
	f.BoolVar(&o.KeepRemoved, "keep-removed", false, "leave components in the cluster that the repository lacks since the last rollout")
	f.BoolVar(&o.Resume, "resume", false, "go on with the rollout that was interrupted or aborted, or give what failed in it a fresh start")
	f.BoolVar(&o.Fresh, "fresh", false, "forget the interrupted rollout and start anew")
	f.BoolVar(&o.DryRun, "dry-run", false, "say what would change, and change nothing")
	f.StringVar(&o.Report, "report", "", "write the JSON report to this file as well")
	o.UpFront.Register(cmd)
	f.StringVar(&o.ArgoNamespace, "argocd-namespace", "", "namespace of Argo CD (default: that of ladder.yaml, else argocd)")
	f.StringVar(&o.Revision, "revision", "", "commit that the engine argocd rolls out (default: HEAD of the checkout)")
	f.StringVar(&o.SelfHeal, "self-heal", "end", "when the engine argocd gives Applications their automated sync back: at the end, or each when it is healthy")
	cmd.MarkFlagsMutuallyExclusive("resume", "fresh")
	for flag, values := range choices {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// choices are the flags with a fixed list of values.
var choices = map[string][]string{
	"engine":     {session.Native, session.ArgoCD},
	"policy":     {"phases", "edges", "serial"},
	"on-failure": {"halt", "continue"},
	"self-heal":  {"end", "healthy"},
}

var selfHeal = map[string]engine.SelfHeal{"end": engine.HoldUntilEnd, "healthy": engine.ReleaseHealthy}

func run(cmd *cobra.Command, args []string, streams *stream.Streams, global *flags.Global, o *Options) error {
	ctx := cmd.Context()
	options, err := o.parse(ctx)
	if err != nil {
		return err
	}
	access, err := o.Open(ctx)
	if err != nil {
		return err
	}
	version, err := access.Reach(ctx)
	if err != nil {
		return err
	}
	if !global.Quiet {
		fmt.Fprintf(streams.Err, "cluster %s  %s  Kubernetes %s\n", access.Name, access.REST.Host, version)
	}
	options.REST, options.InCluster, options.Simulated = access.REST, access.InCluster, access.Simulated(ctx)
	if o.DryRun {
		return dryRun(ctx, streams, global, o, options)
	}
	at := steering.New(ctx, progress.RealCluster, o.UpFront)
	at.Note = func(text string) { fmt.Fprintln(streams.Err, "ladder: "+text) }
	defer at.Leave()
	display := progress.New(streams, global, time.Now)
	defer display.Close() // a panic as well leaves the terminal as it was
	to := outcome.To{Report: o.Report, Format: o.Format, Output: o.Output, Path: o.Path}
	if to.OnTerminal(streams) {
		progress.Reported(display)
	}
	at.Take(display, streams)
	options.Observer, options.Check, options.Control = display, at.Check, at.Control
	result, err := session.OnCluster(at.Context, options)
	display.Close()
	if err != nil {
		return coded(source.Placed(at.Ended(err), o.Path))
	}
	source.PrintFindings(streams.Err, o.Source, result.Loaded.Findings, source.Least(global))
	if result.HistoryError != nil {
		fmt.Fprintf(streams.Err, "ladder: the report is not in the history of the cluster: %v\n", result.HistoryError)
	}
	if err := to.Write(streams, result.Report); err != nil {
		return err
	}
	if result.Interrupted && !global.Quiet {
		fmt.Fprint(streams.Err, "ladder: the state of the rollout is in the cluster, and nothing new starts. Go on with:\n")
		fmt.Fprintf(streams.Whole(), "  %s\n", steering.Resuming(cmd, args))
	}
	return outcome.Verdict(result.Report, result.Interrupted)
}

// parse checks the arguments and turns them into those of a rollout.
func (o *Options) parse(ctx context.Context) (session.ClusterOptions, error) {
	var none session.ClusterOptions
	for _, check := range []struct{ flag, value string }{{"engine", o.Engine}, {"policy", cmp.Or(o.Policy, "phases")}, {"on-failure", o.OnFailure}, {"self-heal", o.SelfHeal}} {
		if err := flags.OneOf(check.flag, check.value, choices[check.flag]...); err != nil {
			return none, err
		}
	}
	switch {
	case o.Timeout < 0 || o.MaxInFlight < 0:
		return none, exit.Usagef("--timeout and --max-in-flight may not be negative")
	case o.Engine != session.ArgoCD && (o.Revision != "" || o.ArgoNamespace != "" || o.SelfHeal != "end"):
		return none, exit.Usagef("--revision, --argocd-namespace and --self-heal are for --engine argocd")
	case o.Engine == session.ArgoCD && o.DryRun:
		return none, exit.Usagef("--dry-run is for --engine native: ask Argo CD with argocd app diff")
	}
	if err := o.CheckUpFront(); err != nil {
		return none, err
	}
	for _, file := range []string{o.Output, o.Report} {
		if err := stream.CheckResult(file); err != nil {
			return none, exit.With(exit.Usage, err)
		}
	}
	expected, err := durations.Read(o.Durations)
	if err != nil {
		return none, err
	}
	choose, err := o.choose()
	if err != nil {
		return none, err
	}
	revision := o.Revision
	if o.Engine == session.ArgoCD {
		if revision, err = commit(ctx, o.Path, o.Revision); err != nil {
			return none, err
		}
	}
	return session.ClusterOptions{
		Piece: session.Piece{
			Path: o.Path, Load: source.Options(o.Source), Policy: rollout.Policy(o.Policy), Durations: expected,
			MaxInFlight: o.MaxInFlight, AllowUnrendered: o.AllowUnrendered,
		},
		OnFailure: rollout.FailurePolicy(o.OnFailure), Timeout: o.Timeout, Engine: o.Engine,
		ArgoNamespace: o.ArgoNamespace, Revision: revision, SelfHeal: selfHeal[o.SelfHeal],
		Choose: choose, Spread: selector.SaysCluster(o.Only), KeepRemoved: o.KeepRemoved, Resume: o.Resume, Fresh: o.Fresh, Now: time.Now, Owner: owner(),
	}, nil
}

// choose returns what narrows the rollout; nil where nothing does.
func (o *Options) choose() (func(*analysis.Result) ([]model.Component, error), error) {
	if o.From == "" && o.To == "" && len(o.Only) == 0 {
		return nil, nil
	}
	bounds := [2]model.Phase{model.NoPhase, model.NoPhase}
	for i, text := range []string{o.From, o.To} {
		if text == "" {
			continue
		}
		phase, err := model.ParsePhase(text)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--%s: %w", [2]string{"from", "to"}[i], err))
		}
		bounds[i] = phase
	}
	return func(loaded *analysis.Result) ([]model.Component, error) {
		chosen, err := selector.Choose(session.Enabled(loaded), loaded.Platform.Ladder.Bands, o.Only)
		if err != nil {
			return nil, err
		}
		chosen = session.Chosen(chosen, bounds[0], bounds[1])
		if len(chosen) == 0 {
			return nil, exit.Usagef("--from, --to and --only leave no component")
		}
		return chosen, nil
	}, nil
}

// commit is what a revision of the checkout names; HEAD where it is empty.
func commit(ctx context.Context, path, revision string) (hash string, err error) {
	if revision == "" {
		revision = "HEAD"
	}
	view, err := git.Open(ctx, path)
	if err == nil {
		defer func() { err = errors.Join(err, view.Close()) }()
		hash, err = view.Commit(ctx, revision)
	}
	switch {
	case err == nil:
		return hash, nil
	case errors.Is(err, git.ErrNoRepository), errors.Is(err, git.ErrElsewhere), errors.Is(err, git.ErrUnknown), errors.Is(err, git.ErrAmbiguous):
		return "", exit.Usagef("--engine argocd rolls out a commit, and %s is none of %s; name one with --revision", revision, path)
	default:
		return "", exit.With(exit.CouldNotRun, err)
	}
}

// owner says for others who runs the rollout.
func owner() string {
	who := "ladder rollout"
	if u, err := user.Current(); err == nil {
		who += " by " + u.Username
	}
	return who
}
