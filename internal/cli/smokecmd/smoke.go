// Package smokecmd is the command "ladder smoke".
package smokecmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/cli/cluster"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/selector"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result
	cluster.Flags

	Selectors []string
	Checks    string
	Wait      time.Duration
	Interval  time.Duration
	Timeout   time.Duration
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "smoke [PATH] [COMPONENT | SELECTOR]...",
		Short: "Run the declared smoke checks against a cluster",
		Long: `Run the checks that descriptors declare under smoke: conditions, Secrets,
certificate chains, Jobs, endpoints, HTTP, TCP and CEL, against a cluster or a
plane. Without a COMPONENT or SELECTOR all of them run, in the order of the
ladder. A selector is a pattern of names (data-*) or properties that all hold:
domain=data,type=smoke, phase=300-399, band=platform.

With --wait, checks that do not hold are asked again until all do. Every failure
says what was seen and where the check is declared. Values of Secrets are never
printed.

From outside the cluster, http and tcp reach a Service through a forwarded port
of one of its pods. On a plane no process answers: there they hold when the
Service has ready endpoints.

Exit codes: 0 all hold; 1 one does not; 2 wrong usage or unreadable input; 3 the
cluster does not answer; 4 one does not hold when --wait is over.`,
		Example: `  ladder smoke --context dev
  ladder smoke . data-plane-smoke --wait 5m
  ladder smoke band=platform --format junit --output smoke.xml
  ladder smoke --checks checks.yaml --in-cluster --wait 5m    # in a Job`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd.Context(), o.Environment)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.split(args)
			return run(cmd.Context(), streams, global, o)
		},
	}
	o.Source.Register(cmd)
	source.CompleteEnvironment(cmd)
	o.Result.Register(cmd, "text", "json", "junit")
	o.Flags.Register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Checks, "checks", "", "run the checks in this file instead of those of a platform")
	f.BoolVar(&o.InCluster, "in-cluster", false, "talk to the cluster of the pod that this runs in, as its service account")
	f.DurationVar(&o.Wait, "wait", 0, "ask checks that do not hold again until all do, at most this long (default: ask once)")
	f.DurationVar(&o.Interval, "interval", 2*time.Second, "pause between two rounds of --wait")
	f.DurationVar(&o.Timeout, "timeout", 10*time.Second, "bound of a check that declares no timeout")
	for _, other := range []string{"kubeconfig", "context", "plane"} {
		cmd.MarkFlagsMutuallyExclusive("in-cluster", other)
	}
	cmd.MarkFlagsMutuallyExclusive("checks", "environment")
	return cmd
}

// split tells the optional PATH from selectors: it is a folder, or written as
// one.
func (o *Options) split(args []string) {
	o.SetPath(nil)
	if len(args) > 0 {
		info, err := os.Stat(args[0])
		if err == nil && info.IsDir() || strings.ContainsAny(args[0], `/\`) || args[0] == "." || args[0] == ".." {
			o.SetPath(args)
			args = args[1:]
		}
	}
	o.Selectors = args
}

func (o *Options) check() error {
	if o.Wait < 0 || o.Timeout <= 0 || o.Interval <= 0 {
		return exit.With(exit.Usage, errors.New("--wait may not be negative, --timeout and --interval must be above 0"))
	}
	if o.Checks != "" && (len(o.Selectors) > 0 || o.Path != ".") {
		return exit.With(exit.Usage, errors.New("--checks names all there is to check: leave PATH and selectors out"))
	}
	if err := stream.CheckResult(o.Output); err != nil {
		return exit.With(exit.Usage, err)
	}
	return nil
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if err := o.check(); err != nil {
		return err
	}
	chosen, environment, err := o.suites(ctx, streams, global)
	if err != nil {
		return err
	}
	access, err := o.Open(ctx)
	if err != nil {
		return err
	}
	if _, err := access.Reach(ctx); err != nil {
		return err
	}
	client, options, err := connect(ctx, access, o.Timeout)
	if err != nil {
		return err
	}
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	started := time.Now()
	answers, late, err := smoke.RunSuites(ctx, client, suitesOf(chosen), options, smoke.Waiting{
		Timeout: o.Wait, Interval: o.Interval, Round: func(answers []smoke.Answer) { tell(display, answers) },
	})
	display.Close()
	if err != nil {
		return err
	}
	result := document(chosen, answers)
	result.Environment, result.Cluster = environment, access.Name
	result.Started, result.Finished = report.Time(started), report.Time(time.Now())
	result.Result = verdict(result, late)
	if err := o.write(streams, result); err != nil {
		return err
	}
	return coded(result.Result)
}

// suites reads the components whose checks are asked.
func (o *Options) suites(ctx context.Context, streams *stream.Streams, global *flags.Global) (chosen []model.Component, environment string, err error) {
	if o.Checks != "" {
		c, err := readChecks(o.Checks)
		return []model.Component{c}, "", err
	}
	p, err := source.Open(ctx, o.Source)
	if err != nil {
		return nil, "", err
	}
	if source.PrintFindings(streams.Err, o.Source, p.Findings, source.Least(global)) > 0 {
		return nil, "", exit.With(exit.Usage, errors.New("the platform cannot be read without doubt: mend the errors above"))
	}
	all, err := selector.Choose(p.Components, p.Ladder.Bands, o.Selectors)
	if err != nil {
		return nil, "", err
	}
	for _, c := range all {
		if c.Enabled && len(c.Smoke) > 0 {
			chosen = append(chosen, c)
		}
	}
	return chosen, p.Environment, nil
}

// readChecks reads a file of checks as one component.
func readChecks(file string) (model.Component, error) {
	f, err := os.Open(file)
	if err != nil {
		return model.Component{}, exit.With(exit.Usage, fmt.Errorf("read the checks: %w", err))
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, smokejob.MaxFile+1))
	if err != nil {
		return model.Component{}, exit.With(exit.Usage, fmt.Errorf("read the checks: %w", err))
	}
	name, checks, err := smokejob.Read(text)
	if err != nil {
		return model.Component{}, exit.With(exit.Usage, fmt.Errorf("%s: %w", file, err))
	}
	for i := range checks {
		checks[i].Position = finding.Position{File: file}
	}
	if name == "" {
		name = "checks"
	}
	return model.Component{Name: name, Phase: model.NoPhase, Enabled: true, Smoke: checks}, nil
}

// connect makes the client of the checks.
func connect(ctx context.Context, access *cluster.Access, timeout time.Duration) (smoke.Client, smoke.Options, error) {
	on, err := smoke.Connect(access.REST, time.Now)
	if err != nil {
		return nil, smoke.Options{}, exit.With(exit.CouldNotRun, err)
	}
	options := smoke.Options{Timeout: timeout, Now: time.Now, Simulated: access.Simulated(ctx)}
	if !access.InCluster {
		options.Dial = smoke.Forwarder(access.REST, on)
	}
	return on, options, nil
}

func suitesOf(chosen []model.Component) []smoke.Suite {
	suites := make([]smoke.Suite, len(chosen))
	for i, c := range chosen {
		suites[i] = smoke.Suite{Component: c.Name, Checks: c.Smoke}
	}
	return suites
}

// tell says how many checks hold.
func tell(display progress.Display, answers []smoke.Answer) {
	hold := 0
	for _, a := range answers {
		if a.OK {
			hold++
		}
	}
	display.Counted(hold, len(answers), "checks hold")
}

// document puts the answers to their components.
func document(chosen []model.Component, answers []smoke.Answer) report.Smoke {
	out := report.Smoke{Components: []report.SmokeComponent{}}
	for _, c := range chosen {
		one := report.SmokeComponent{Name: c.Name, Phase: c.Order(), Validates: []string{}, Checks: []report.SmokeCheck{}}
		for _, v := range c.Validates {
			one.Validates = append(one.Validates, v.Text)
		}
		for _, a := range answers[:len(c.Smoke)] {
			check := report.NewSmokeCheck(a.Check, a.Attempts, a.Took)
			check.OK, check.Message, check.Unanswered = a.OK, finding.Redact(a.Message), errors.As(a.Err, new(*smoke.UnreachableError))
			check.Check = finding.Redact(check.Check)
			one.Checks = append(one.Checks, check)
		}
		answers = answers[len(c.Smoke):]
		out.Components = append(out.Components, one)
	}
	out.Count()
	return out
}

func verdict(s report.Smoke, late bool) string {
	unanswered := false
	for _, c := range s.Components {
		for _, check := range c.Checks {
			unanswered = unanswered || check.Unanswered
		}
	}
	switch {
	case s.Summary.Failed == 0:
		return report.SmokePassed
	case unanswered:
		return report.SmokeUnreachable
	case late:
		return report.SmokeTimedOut
	default:
		return report.SmokeFailed
	}
}

func (o *Options) write(streams *stream.Streams, result report.Smoke) error {
	var b bytes.Buffer
	var err error
	switch o.Format {
	case "json":
		err = report.JSON(&b, result)
	case "junit":
		err = report.SmokeJUnit(&b, result)
	default:
		if o.Checks == "" {
			result = result.Below(source.Way(o.Path))
		}
		err = report.SmokeText(&b, result, report.Style{Color: o.Output == "" && streams.Color(streams.OutTerminal)})
	}
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if err := streams.WriteFormat(o.Format, o.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	return nil
}

func coded(result string) error {
	switch result {
	case report.SmokePassed:
		return nil
	case report.SmokeUnreachable:
		return exit.Silent(exit.CouldNotRun)
	case report.SmokeTimedOut:
		return exit.Silent(exit.TimedOut)
	default:
		return exit.Silent(exit.No)
	}
}
