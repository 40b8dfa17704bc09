package lintcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/next"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/revision"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result

	Rules         []string
	Severity      string
	FailOn        []string
	Baseline      string
	WriteBaseline bool
	NewFrom       string
	// FixOrder lets Fix move components in the order.
	Fix, FixOrder, DryRun bool
	Version               string

	// revision is what is linted in place of the work tree, environments the part of
	// it; nil for the work tree.
	revision     *revision.Tree
	environments []string
}

// reading is what is said to be read.
func (o *Options) reading() string {
	if o.revision != nil {
		return o.revision.Commit.Name
	}
	return o.Path
}

// placed gives errors the positions that people read. Those of a revision are of its
// folder, and who asked for it says so.
func (o *Options) placed(err error) error {
	if o.revision != nil {
		return source.Coded(err)
	}
	return source.Coded(source.Placed(err, o.Path))
}

// formats are those of the report; the first is the default.
func formats() []string { return []string{"text", "json", "sarif", "github", "markdown"} }

func severities() []string {
	return []string{string(finding.Error), string(finding.Warning), string(finding.Info)}
}

// The --fail-on that are no severities: none never fails, unread fails where
// something was not read or not rendered.
const (
	none   = "none"
	unread = "unread"
)

func failOn() []string { return append(severities(), unread, none) }

// New returns the command.
func New(streams *stream.Streams, global *flags.Global, version string) *cobra.Command {
	o := &Options{Version: version}
	cmd := &cobra.Command{
		Use:   "lint [PATH]",
		Short: "Prove the order of a repository, or show where it is wrong",
		Long: `Read and render a repository, infer what every component requires of the others,
and judge the order in which it would roll out. A repository needs no
configuration: PATH is a platform of descriptors, or anything that Argo CD reads.

What could not be rendered is listed and never called clean. Findings are
suppressed with a reason, in the file or in ladder.yaml; ladder explain RULE says
what a rule means. With --baseline only findings that are new are reported, and
with --new-from those that the revision of Git does not have: it is read into a
temporary folder and linted in the same way. REVISION:FOLDER names a folder that
was called differently then.

The first line is the verdict, and says how much was judged. --fail-on error,unread
fails as well where something was not read or not rendered.

Exit code 1: a finding has the severity of --fail-on, or a worse one.`,
		Example: `  ladder lint
  ladder lint -e all --format json
  ladder lint --fail-on error,unread
  ladder lint --format sarif --output ladder.sarif
  ladder lint --rules secret-before-use,crd-before-use
  ladder lint --fix --dry-run
  ladder lint --baseline ladder-baseline.json --write-baseline
  ladder lint -e all --new-from origin/main`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			o.Fix = o.Fix || o.FixOrder
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	source.Asks(cmd, &o.Source)
	o.Result.Register(cmd, formats()...)
	f := cmd.Flags()
	f.Lookup("environment").Usage = "environment to lint, or all (default: the only one, else dev, else all)"
	f.StringSliceVar(&o.Rules, "rules", nil, "run these rules only")
	f.StringVar(&o.Severity, "severity", string(finding.Info), "minimum severity to show: error, warning or info")
	f.StringSliceVar(&o.FailOn, "fail-on", []string{string(finding.Error)}, "minimum severity that causes exit 1: error, warning, info or none; unread also fails on what was not read")
	f.StringVar(&o.Baseline, "baseline", "", "report only findings that this file does not have")
	f.StringVar(&o.NewFrom, "new-from", "", "report only findings that this `REVISION` of the Git repository does not have")
	f.BoolVar(&o.WriteBaseline, "write-baseline", false, "write all findings into the file of --baseline")
	f.BoolVar(&o.Fix, "fix", false, "mend what can be mended mechanically, then report what is left")
	f.BoolVar(&o.FixOrder, "fix-order", false, "like --fix, and also move components that stand before what they require")
	f.BoolVar(&o.DryRun, "dry-run", false, "with --fix: print the changes as a diff and make none")
	_ = cmd.RegisterFlagCompletionFunc("rules", CompleteRule)
	_ = cmd.RegisterFlagCompletionFunc("severity", cobra.FixedCompletions(severities(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("fail-on", cobra.FixedCompletions(failOn(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// CompleteRule completes the ids of rules.
func CompleteRule(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, r := range lint.All() {
		ids = append(ids, r.ID+"\t"+r.Summary)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// check refuses arguments that cannot be meant.
func (o *Options) check() error {
	ids := lint.IDs(lint.All())
	for _, id := range o.Rules {
		if slices.Contains(ids, id) {
			continue
		}
		hint := cmp.Or(yamldoc.Meant(id, ids), "the rules are "+strings.Join(ids, ", "))
		return exit.With(exit.Usage, fmt.Errorf("--rules: there is no rule %q; %s", id, hint))
	}
	err := flags.OneOf("severity", o.Severity, severities()...)
	for _, on := range o.FailOn {
		err = errors.Join(err, flags.OneOf("fail-on", on, failOn()...))
	}
	switch {
	case err != nil:
		return exit.With(exit.Usage, err)
	case len(o.FailOn) == 0:
		return exit.With(exit.Usage, errors.New("--fail-on is empty; none never fails"))
	case len(o.FailOn) > 1 && slices.Contains(o.FailOn, none):
		return exit.With(exit.Usage, errors.New("--fail-on: none and others exclude each other"))
	case o.NewFrom != "" && o.Baseline != "":
		return exit.With(exit.Usage, errors.New("--new-from and --baseline exclude each other: a revision is a baseline"))
	case o.WriteBaseline && o.Baseline == "":
		return exit.With(exit.Usage, errors.New("--write-baseline needs --baseline FILE"))
	case o.WriteBaseline && o.Fix:
		return exit.With(exit.Usage, errors.New("--write-baseline and --fix exclude each other: mend first, then write down what is left"))
	case o.DryRun && !o.Fix:
		return exit.With(exit.Usage, errors.New("--dry-run needs --fix"))
	}
	return exit.With(exit.Usage, stream.CheckResult(o.Output))
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if err := source.Ask(ctx, &o.Source); err != nil {
		return err
	}
	known, err := readBaseline(o)
	if err != nil {
		return err
	}
	old, err := findBefore(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.close()) }()
	j, err := judge(ctx, streams, global, o)
	if err != nil {
		return err
	}
	if old != nil {
		if known, err = old.known(ctx, streams, global, o, j); err != nil {
			return err
		}
	}
	if o.WriteBaseline {
		return writeBaseline(streams, o, j.findings)
	}
	j.takeOff(known)
	if o.Fix && o.DryRun {
		return j.preview(streams, o)
	}
	if o.Fix {
		changed, err := j.fix(streams, o)
		if err != nil {
			return err
		}
		if changed {
			// The report is about what is there now, not about what should be.
			if j, err = judge(ctx, streams, global, o); err != nil {
				return err
			}
			j.takeOff(known)
		}
	}
	failed := j.fails(o.FailOn)
	if err := j.write(streams, global, o); err != nil {
		return err
	}
	if j.aside != "" && !global.Quiet {
		fmt.Fprintln(streams.Err, j.aside)
	}
	if o.Format == "text" {
		next.Tell(streams, global, o.Source, o.Result, j.next()...)
	}
	switch {
	case j.broken != nil:
		return o.placed(j.broken)
	case failed:
		return exit.Silent(exit.No)
	}
	return nil
}

// next is what people may do after this verdict.
func (j *judgement) next() []next.Step {
	var steps []next.Step
	if !j.coverage().Whole() {
		steps = append(steps, next.Step{Words: []string{"lint", "--verbose"}, Why: "all that was not read or rendered"})
	}
	if !j.fails([]string{string(finding.Error)}) {
		steps = append(steps,
			next.Step{Words: []string{"plan"}, Why: "the order, its critical path and the expected time"},
			next.Step{Words: []string{"rehearse"}, Why: "try that order on a control plane in this binary"})
	}
	return steps
}

// fails reports whether a finding is as grave as a level, or something was not read
// where that matters.
func (j *judgement) fails(on []string) bool {
	if slices.Contains(on, unread) && !j.coverage().Whole() {
		return true
	}
	return slices.ContainsFunc(on, func(level string) bool {
		return slices.Contains(severities(), level) && slices.ContainsFunc(j.findings, func(f finding.Finding) bool {
			return f.Severity.Rank() <= finding.Severity(level).Rank()
		})
	})
}
