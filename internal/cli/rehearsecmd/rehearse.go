// Package rehearsecmd is the command "ladder rehearse".
package rehearsecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/cli/durations"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/next"
	"github.com/rollout-ladder/ladder/internal/cli/outcome"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/git"
	"github.com/rollout-ladder/ladder/internal/run/rehearse"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result
	steering.UpFront

	Engine          string
	ArgoCD          string
	Policy          string
	OnFailure       string
	Speed           string
	Seed            int64
	Jitter          float64
	LeastTimeout    time.Duration
	Fail            []string
	Durations       string
	MaxInFlight     int
	Timeout         time.Duration
	AllowUnrendered bool
	Plane           string
	Keep            bool
	Resume          bool
	Fresh           bool
	Report          string

	// driven is set where a policy was asked for: with Argo CD as the engine Ladder
	// then drives its Applications, else it follows them.
	driven bool
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "rehearse [PATH]",
		Short: "Roll the whole platform out on a control plane inside this binary",
		Long: `Render every component and roll the platform out, health-gated, on a real
Kubernetes API server, controller manager, scheduler and etcd that run inside
this binary: no cluster, no Docker, nothing pulled. Pods, storage and operators
are simulated, so that what is missing fails as it fails in production: a pod
waits for its Secret, a claim for its storage class, a custom resource for its
operator, a webhook refuses until its pods are ready.

The time in which nothing happens is skipped: the times told are simulated, and
a rollout of half an hour takes some seconds. With --speed N time passes, N times
as fast as in a cluster. --timeout is in real time in both cases.

With --engine argocd the real Argo CD rolls it out: its application controller,
ApplicationSet controller and repo server, from the binary ladder-argocd, read a
snapshot of the work tree with what "ladder generate" makes of it, or the
Applications of the repository as they are; Ladder only follows. It takes some
seconds for each step of RollingSync, whatever the speed. With --policy as well
Ladder drives what it generated, as "ladder rollout --engine argocd" does: one
sync of Argo CD for each component, in the order of that policy.

On a terminal the keys e, f, p and a explain what waits, list failures, pause,
and approve a step with maxUpdate 0; ? lists them. Ctrl-C asks what to do and
stops nothing; twice it detaches: a plane of --keep or --plane stays up with the
state saved, another one ends. Elsewhere an interrupt stops the command with the
state saved, and a step with maxUpdate 0 must be approved up front (--approve):
without that the rehearsal is refused, since nobody could let it go on.

A component that cannot be rendered stands in as an empty one. It is reported as
unrendered, and the rehearsal fails, unless --allow-unrendered is given. It fails as
well where nothing of a smoke can fail (rule smoke-tests-nothing), unless that is
suppressed with a reason.

Exit codes: 0 succeeded; 1 failed, aborted, not all rendered, or a smoke that
tests nothing; 2 unreadable input, or a step that nobody approves; 3 the control
plane did not start, or stopped answering; 4 timed out; 130 interrupted or
detached (with --keep or --plane the state is saved; go on with --resume).`,
		Example: `  ladder rehearse examples/ameide --environment dev
  ladder rehearse --policy edges --format json
  ladder rehearse --fail platform-keycloak=never-ready --on-failure continue
  ladder rehearse --engine argocd   # with the real Argo CD, in its own order
  ladder rehearse --engine argocd --policy edges   # its syncs, in Ladder's order
  ladder rehearse --keep            # look around with kubectl afterwards`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd, args, streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	o.Result.Register(cmd, "text", "json", "markdown")
	f := cmd.Flags()
	f.StringVar(&o.Engine, "engine", rehearse.EngineNative, "what applies the objects: native, or argocd for the real Argo CD")
	f.StringVar(&o.ArgoCD, "argocd-binary", "", "the binary with the controllers of Argo CD (default: ladder-argocd beside ladder, else on PATH)")
	f.StringVar(&o.Policy, "policy", "", "phases, edges or serial (default: phases, for Flux edges); with --engine argocd Ladder drives the Applications only if it is given")
	f.StringVar(&o.OnFailure, "on-failure", "halt", "halt, or continue with what does not need the failed component")
	f.StringVar(&o.Speed, "speed", "", "skip the time in which nothing happens: skip; or a number that divides the simulated delays, timeouts and retries, to watch (default skip, with --engine argocd 60)")
	f.Int64Var(&o.Seed, "seed", 1, "seed of the simulated delays")
	f.Float64Var(&o.Jitter, "jitter", settings.DefaultJitter, "fraction by which the seed spreads the simulated delays, 0 to 1")
	f.DurationVar(&o.LeastTimeout, "least-timeout", 0, "least readiness timeout of a component in real time; where idle time is skipped, how long nothing may change before a timeout is skipped to (default 1m0s, skipping 20s)")
	f.StringArrayVar(&o.Fail, "fail", nil, "make a component misbehave that has pods or custom resources: NAME[=never-ready|crash|flap|slow:5m]; may be repeated")
	f.StringVar(&o.Durations, "durations", "", "file of expected durations per component (JSON or YAML map, or a rollout report)")
	f.IntVar(&o.MaxInFlight, "max-in-flight", 0, "most components in flight at once under the policy edges (default: the ladder's)")
	f.DurationVar(&o.Timeout, "timeout", 0, "bound of the whole rehearsal, in real time (default: none)")
	f.BoolVar(&o.AllowUnrendered, "allow-unrendered", false, "let the rehearsal succeed although components that cannot be rendered stood in as empty ones")
	f.StringVar(&o.Plane, "plane", "", "rehearse on the plane of this name, which stays up (see ladder plane)")
	f.BoolVar(&o.Keep, "keep", false, "leave the plane running and print its kubeconfig")
	f.BoolVar(&o.Resume, "resume", false, "go on with the interrupted rollout of a kept plane, by the flags that it was started with")
	f.BoolVar(&o.Fresh, "fresh", false, "forget the interrupted rollout of a kept plane")
	f.StringVar(&o.Report, "report", "", "write the JSON report to this file as well")
	o.UpFront.Register(cmd)
	cmd.MarkFlagsMutuallyExclusive("resume", "fresh")
	source.CompleteFault(cmd, &o.Source)
	for flag, values := range choices {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// choices are the flags with a fixed list of values.
var choices = map[string][]string{
	"engine":     {rehearse.EngineNative, rehearse.EngineArgoCD},
	"speed":      {skip, "60", "1"},
	"policy":     {"phases", "edges", "serial"},
	"on-failure": {"halt", "continue"},
	"approve":    {steering.EveryStep},
}

func run(cmd *cobra.Command, args []string, streams *stream.Streams, global *flags.Global, o *Options) error {
	if o.Resume {
		if err := resuming(cmd, o); err != nil {
			return coded(err)
		}
	}
	o.driven = o.Engine == rehearse.EngineArgoCD && cmd.Flags().Changed("policy")
	options, err := o.parse()
	if err != nil {
		return err
	}
	kept := o.Keep || o.Plane != ""
	place := progress.Thrown
	if kept {
		place = progress.KeptPlane
	}
	at := steering.New(cmd.Context(), place, o.UpFront)
	defer at.Leave()
	display := progress.New(streams, global, time.Now)
	defer display.Close() // a panic as well leaves the terminal as it was
	to := outcome.To{Report: o.Report, Format: o.Format, Output: o.Output, Path: o.Path}
	if to.OnTerminal(streams) {
		progress.Reported(display)
	}
	at.Take(display, streams)
	options.Observer, options.Check, options.Control = display, at.Check, at.Control
	if o.Engine == rehearse.EngineArgoCD && !o.driven {
		options.Check = ofArgoCD(at.Check)
	}
	options.Flags = goingOn(cmd)
	result, err := rehearse.Run(at.Context, options)
	display.Close()
	if err != nil {
		return coded(source.Placed(at.Ended(err), o.Path))
	}
	source.PrintFindings(streams.Err, o.Source, result.Findings, source.Least(global))
	if err := to.Write(streams, result.Report); err != nil {
		return err
	}
	if result.Interrupted && !global.Quiet {
		interrupted(streams, at, kept, cmd, args)
	}
	if !result.Interrupted && o.Format == "text" {
		next.Tell(streams, global, o.Source, o.Result, after(cmd, result.Report, kept)...)
	}
	return outcome.Verdict(result.Report, result.Interrupted)
}

// after is what people may do after a rehearsal.
func after(cmd *cobra.Command, r report.Rollout, kept bool) []next.Step {
	if r.Result == string(rollout.Succeeded) {
		return []next.Step{
			{Words: []string{"plan", "--compare"}, Why: "what another policy would take"},
			{Words: []string{"rollout", "--dry-run"}, Why: "what would change on your cluster"},
		}
	}
	var steps []next.Step
	for _, c := range r.Components {
		if c.State == string(rollout.Failed) || c.State == string(rollout.TimedOut) {
			steps = append(steps, next.Step{Words: []string{"explain"}, Name: c.Name, Why: "what it requires, and who requires it"})
			break
		}
	}
	if len(steps) == 0 && len(r.Untested) > 0 {
		return []next.Step{{Words: []string{"explain", lint.RuleSmokeTestsNothing}, Why: "what a smoke must hold, and how to say that one is right"}}
	}
	if len(steps) == 0 && len(r.Unrendered) > 0 {
		return []next.Step{{Words: []string{"lint", "--verbose"}, Why: "what is not rendered, and where to mend it"}}
	}
	if !kept {
		again := append([]string{"rehearse", "--keep"}, steering.Flags(cmd, slices.Concat(ofOneRun, flags.Again)...)...)
		steps = append(steps, next.Step{Words: again, Why: "keep the plane, and look around with kubectl"})
	}
	return steps
}

// parse checks the arguments and turns them into those of a rehearsal.
func (o *Options) parse() (rehearse.Options, error) {
	var none rehearse.Options
	for _, check := range []struct{ flag, value string }{{"engine", o.Engine}, {"policy", cmp.Or(o.Policy, "phases")}, {"on-failure", o.OnFailure}} {
		if err := flags.OneOf(check.flag, check.value, choices[check.flag]...); err != nil {
			return none, err
		}
	}
	if err := o.CheckUpFront(); err != nil {
		return none, err
	}
	speed, err := o.speed()
	if err != nil {
		return none, err
	}
	if o.Timeout < 0 || o.MaxInFlight < 0 || o.LeastTimeout < 0 {
		return none, exit.With(exit.Usage, errors.New("--timeout, --least-timeout and --max-in-flight may not be negative"))
	}
	if !(o.Jitter >= 0 && o.Jitter <= 1) {
		return none, exit.With(exit.Usage, fmt.Errorf("--jitter %v: choose a number from 0 to 1", o.Jitter))
	}
	if o.Resume && !o.Keep && o.Plane == "" {
		return none, exit.With(exit.Usage, errors.New("--resume needs the plane of the interrupted rollout: --keep, or --plane NAME"))
	}
	for _, file := range []string{o.Output, o.Report} {
		if err := stream.CheckResult(file); err != nil {
			return none, exit.With(exit.Usage, err)
		}
	}
	faults := map[string]settings.Fault{}
	for _, text := range o.Fail {
		name, kind, given := strings.Cut(text, "=")
		if !given {
			kind = string(settings.NeverReady)
		}
		fault, err := settings.ParseFault(kind)
		if err != nil {
			return none, exit.With(exit.Usage, fmt.Errorf("--fail %s: %w", text, err))
		}
		faults[name] = fault
	}
	expected, err := durations.Read(o.Durations)
	if err != nil {
		return none, err
	}
	binary, err := o.argoCD()
	if err != nil {
		return none, err
	}
	return rehearse.Options{
		Path: o.Path, Load: source.Options(o.Source), Engine: o.Engine, ArgoCD: binary, Drive: o.driven, Policy: rollout.Policy(o.Policy),
		OnFailure: rollout.FailurePolicy(o.OnFailure), Speed: speed, Seed: o.Seed, Faults: faults,
		Jitter: o.Jitter, LeastTimeout: o.leastTimeout(speed),
		Durations: expected, MaxInFlight: o.MaxInFlight, Timeout: o.Timeout, AllowUnrendered: o.AllowUnrendered,
		Plane: o.Plane, Keep: o.Keep, Resume: o.Resume, Fresh: o.Fresh, Now: time.Now,
	}, nil
}

// coded gives an error of a rehearsal its exit code. Some wrap the end of a time, which
// was not that of the rehearsal.
func coded(err error) error {
	var notUp *plane.NotFoundError
	switch {
	case errors.Is(err, context.Canceled), errors.As(err, new(*exit.Error)):
		return err
	case errors.As(err, &notUp):
		return exit.With(exit.Usage, fmt.Errorf("there is no rollout to resume: %w", notUp))
	case errors.As(err, new(*rehearse.NotDrivenError)), errors.As(err, new(*rehearse.FaultError)):
		return exit.With(exit.Usage, err)
	case errors.As(err, new(*generate.EdgeError)), errors.As(err, new(*generate.LayoutError)):
		return exit.With(exit.No, err)
	case errors.As(err, new(*argocd.MissingError)), errors.As(err, new(*argocd.StartError)), errors.As(err, new(*git.MissingError)), errors.As(err, new(*rehearse.PlaneError)):
		return exit.With(exit.CouldNotRun, err)
	default:
		return outcome.Coded(err)
	}
}
