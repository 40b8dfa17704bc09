// Package plancmd is the command "ladder plan".
package plancmd

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/durations"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/next"
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

	Policy      string
	Durations   string
	MaxInFlight int
	Compare     bool
	Suggest     bool
}

// formats are what a plan can be written as.
var formats = []string{"text", "json", "dot", "mermaid", "svg", "html"}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "plan [PATH]",
		Short: "Show the rollout order, its steps, the critical path and the expected time",
		Long: `Render every component, infer what it requires, and show the order in which the
platform rolls out: the steps, the critical path, the expected time, and every
edge that the order contradicts, with its evidence.

Policies: phases follows the ladder as RollingSync does; edges starts a
component as soon as all it requires is Healthy; serial is one after another.

With --suggest, show the placement with the fewest moves in which every
component stands after what it requires, the limits that slow steps down, the
gain, and a patch. Pictures (dot, mermaid, svg, html) leave out edges that longer
chains imply, and draw red what the order contradicts.

Exit code 1: the order contradicts an edge, components require each other, no
descriptor has a phase, or the repository has error findings.`,
		Example: `  ladder plan
  ladder plan --policy edges --format json
  ladder plan -e all
  ladder plan --compare
  ladder plan --format svg --output ladder.svg
  ladder plan --suggest             # moves, and the patch that makes them
  ladder plan --durations durations.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.RegisterEach(cmd, &o.Source)
	o.Result.Register(cmd, formats...)
	f := cmd.Flags()
	f.StringVar(&o.Policy, "policy", "", "phases, edges or serial (default: phases, for Flux edges)")
	f.StringVar(&o.Durations, "durations", "", "file of expected durations per component (JSON or YAML map, or a rollout report)")
	f.IntVar(&o.MaxInFlight, "max-in-flight", 0, "most components in flight at once under the policy edges (default: the ladder's)")
	f.BoolVar(&o.Compare, "compare", false, "show all policies side by side")
	f.BoolVar(&o.Suggest, "suggest", false, "suggest phases or sync waves, and maxUpdate, that keep every requirement, as a patch")
	cmd.MarkFlagsMutuallyExclusive("compare", "suggest")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{"phases", "edges", "serial"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if o.Compare || o.Suggest {
		if err := flags.OneOf("format", o.Format, "text", "json"); err != nil {
			return err
		}
	}
	if err := flags.Policy(o.Policy); err != nil {
		return err
	}
	expected, err := durations.Read(o.Durations)
	if err != nil {
		return err
	}
	if err := source.CheckAll(o.Source, o.Format); err != nil {
		return err
	}
	if err := source.Ask(ctx, &o.Source); err != nil {
		return err
	}
	all, err := source.LoadEach(ctx, streams, global, o.Source)
	if err != nil {
		return err
	}
	var parts []source.Part
	var only map[string][]string
	if o.Format != "text" && o.Format != "json" {
		only = source.Only(ctx, o.Source)
	}
	wrong, said := 0, source.Said{}
	for _, loaded := range all {
		findings := slices.Clone(loaded.Findings)
		if !o.Compare && !o.Suggest && (o.Policy == "" || o.Policy == string(rollout.Phases)) {
			findings = append(findings, lint.WithoutPhases(loaded.Lint(), lint.Options{Levels: loaded.Platform.Lint.Rules})...)
		}
		wrong += source.PrintFindings(streams.Err, o.Source, said.New(findings), source.Least(global))
		content, n, err := one(loaded, expected, only, o)
		if err != nil {
			return err
		}
		wrong += n
		parts = append(parts, source.Part{Environment: loaded.Platform.Environment, Content: content})
	}
	if o.Suggest {
		wrong = 0 // the answer is the suggestion
	}
	content, err := source.Join(o.Source, o.Format, parts)
	if err != nil {
		return err
	}
	format := o.Format
	if o.Suggest {
		format = "patch"
	}
	if err := streams.WriteFormat(format, o.Output, content); err != nil {
		return err
	}
	if o.Format == "text" && !o.Suggest {
		steps := []next.Step{{Words: []string{"rehearse"}, Why: "try this order on a control plane in this binary"}}
		switch {
		case wrong > 0 && all[0].Platform.Flux != nil: // which knows no places that moves could change
			steps = []next.Step{{Words: []string{"lint"}, Why: "what is wrong with this order, with a way out"}}
		case wrong > 0:
			steps = []next.Step{{Words: []string{"plan", "--suggest"}, Why: "the fewest moves that keep every requirement, as a patch"}}
		}
		next.Tell(streams, global, o.Source, o.Result, append(steps, next.Step{Words: []string{"plan", "--compare"}, Why: "what another policy would take"})...)
	}
	switch {
	case wrong == 0:
		return nil
	case o.Format == "text":
		return exit.Silent(exit.No)
	default:
		return exit.With(exit.No, errors.New("the order is wrong in "+finding.Count(wrong, "place")+": ladder plan says where"))
	}
}

// one plans one environment, and counts what is wrong with the plan.
func one(loaded *analysis.Result, expected map[string]time.Duration, only map[string][]string, o *Options) (content []byte, wrong int, err error) {
	input := session.PlanInput(loaded, rollout.Policy(o.Policy), expected, o.MaxInFlight)
	input.Only = only
	var b bytes.Buffer
	switch {
	case o.Compare:
		err = compare(&b, input, o)
	case o.Suggest:
		err = suggest(&b, input, loaded, o)
	default:
		p, err := plan.Build(input)
		if err != nil {
			return nil, 0, exit.With(exit.Usage, err)
		}
		wrong = judge(p, loaded) + len(p.Unplaced)
		if p.Policy != rollout.Edges { // which goes by requirements alone
			p.Against = session.Milder(loaded, p.Against, finding.Error)
			wrong += hard(p.Against)
		}
		p.Reversed = loaded.PreciseEdges(session.Reversed(loaded))
		wrong += len(p.Reversed)
		p.Edges, p.Against = loaded.PreciseEdges(p.Edges), loaded.PreciseEdges(p.Against)
		err = write(&b, p, loaded, o)
		return b.Bytes(), wrong, err
	}
	return b.Bytes(), 0, err
}

// judge counts the cycles that are wrong. The policy edges starts none of their components;
// any other goes by the steps, and whether these come up is the judgement of lint.
func judge(p *plan.Plan, loaded *analysis.Result) int {
	if p.Policy == rollout.Edges || len(p.Cycles) == 0 {
		return len(p.Cycles)
	}
	in := loaded.Lint()
	in.Findings = nil
	kept, _ := session.Unsuppressed(loaded, lint.Run(in, lint.Options{Rules: lint.All(), Only: []string{lint.RuleCycle}, Levels: loaded.Platform.Lint.Rules}))
	p.Judged = append([]finding.Finding{}, kept...)
	n := 0
	for _, f := range p.Judged {
		if f.Severity == finding.Error {
			n++
		}
	}
	return n
}

// hard counts the edges without which a component cannot come up: what heals by
// itself is told and is no reason to fail.
func hard(edges []plan.Edge) int {
	n := 0
	for _, e := range edges {
		if e.Strength == plan.Hard {
			n++
		}
	}
	return n
}

func compare(b *bytes.Buffer, input plan.Input, o *Options) error {
	cs, err := plan.Compare(input)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if o.Format == "json" {
		return report.JSON(b, report.ComparisonDocument(input.Environment, cs))
	}
	return report.CompareText(b, cs)
}

func write(b *bytes.Buffer, p *plan.Plan, loaded *analysis.Result, o *Options) error {
	unrendered := session.Unrendered(loaded)
	switch o.Format {
	case "json":
		return report.JSON(b, report.PlanDocument(p, unrendered))
	case "dot":
		return report.PlanDOT(b, p)
	case "mermaid":
		return report.PlanMermaid(b, p)
	case "svg":
		return report.PlanSVG(b, p)
	case "html":
		return report.PlanHTML(b, p, unrendered, source.Way(o.Path))
	default:
		return report.PlanText(b, p, unrendered, source.Way(o.Path))
	}
}
