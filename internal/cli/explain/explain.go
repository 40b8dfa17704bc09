// Package explain is the command "ladder explain".
package explain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result

	Subject string
	Policy  string
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "explain [COMPONENT | CONSUMER->PROVIDER | RULE] [PATH]",
		Short: "Say why a component stands where it stands, on what an edge rests, or what a rule means",
		Long: `Say why a component stands where it stands: its place, what it requires and on
what evidence, what waits for it, and its blast radius. With A->B, show the
evidence of the edge between two components. With the name of a lint rule, print
its documentation; with nothing, list the rules.`,
		Example: `  ladder explain platform-keycloak
  ladder explain platform-keycloak -e all
  ladder explain "platform-keycloak->platform-postgres-clusters"
  ladder explain secret-before-use`,
		Args:              cobra.RangeArgs(0, 2),
		ValidArgsFunction: completeSubject(&o.Source),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listRules(streams, o)
			}
			o.Subject = args[0]
			o.SetPath(args[1:])
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.RegisterEach(cmd, &o.Source)
	o.Result.Register(cmd, "text", "json")
	cmd.Flags().StringVar(&o.Policy, "policy", "", "phases, edges or serial (default: phases, for Flux edges)")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if err := flags.Policy(o.Policy); err != nil {
		return err
	}
	if done, err := explainRule(streams, o); done || err != nil {
		return err
	}
	if err := source.Ask(ctx, &o.Source); err != nil {
		return err
	}
	all, err := source.LoadEach(ctx, streams, global, o.Source)
	if err != nil {
		return orRule(err, o.Subject)
	}
	var parts []source.Part
	var absent error
	required := false
	for _, loaded := range all {
		content, has, err := one(streams, loaded, o)
		if errors.As(err, new(*absentError)) {
			absent = err
			continue
		}
		if err != nil {
			return err
		}
		required = required || has
		parts = append(parts, source.Part{Environment: loaded.Platform.Environment, Content: content})
	}
	if len(parts) == 0 {
		return absent // from all of them
	}
	content, err := source.Join(o.Source, o.Format, parts)
	if err != nil {
		return err
	}
	if err := streams.WriteFormat(o.Format, o.Output, content); err != nil {
		return err
	}
	if !required {
		return exit.Silent(exit.No)
	}
	return nil
}

// one explains a component or an edge of one environment. has is false for an edge that
// is not there.
func one(streams *stream.Streams, loaded *analysis.Result, o *Options) (content []byte, has bool, err error) {
	p, err := plan.Build(session.PlanInput(loaded, rollout.Policy(o.Policy), nil, 0))
	if err != nil {
		return nil, false, exit.With(exit.Usage, err)
	}
	p.Reversed = session.Reversed(loaded)
	consumer, provider, isEdge := strings.Cut(o.Subject, "->")
	var rules []string
	if !isEdge {
		rules = lint.IDs(lint.All())
	}
	c, err := find(loaded.Typed(), strings.TrimSpace(consumer), rules...)
	if err != nil {
		return nil, false, err
	}
	explanation := report.Explain(p, c, session.Unrendered(loaded))
	for _, edges := range [][]report.PlanEdge{explanation.Requires, explanation.RequiredBy} {
		for i := range edges {
			edges[i].Evidence = loaded.Precise(edges[i].Evidence)
		}
	}
	if isEdge {
		if _, err := find(loaded.Platform.Components, strings.TrimSpace(provider)); err != nil {
			return nil, false, err
		}
		return edge(streams, o, explanation, strings.TrimSpace(provider))
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, explanation)
	} else {
		err = report.ExplainText(&b, explanation.Below(source.Way(o.Path)))
	}
	return b.Bytes(), true, err
}

// absentError says that an environment has no such component.
type absentError struct{ name, hint string }

// Error implements error.
func (e *absentError) Error() string {
	return fmt.Sprintf("there is no component %q; %s", e.name, e.hint)
}

// find returns the component of a name. What is unknown may mean one of the others,
// or of the further names.
func find(components []model.Component, name string, further ...string) (model.Component, error) {
	names := make([]string, len(components), len(components)+len(further))
	for i, c := range components {
		if c.Name == name {
			return c, nil
		}
		names[i] = c.Name
	}
	if consumer, cut := strings.CutSuffix(name, "-"); cut && slices.Contains(names, consumer) {
		return model.Component{}, exit.Usagef("%q is no component: quote an edge, since a shell takes > for a file: ladder explain '%s->PROVIDER'", name, consumer)
	}
	hint := cmp.Or(yamldoc.Meant(name, append(names, further...)), "ladder inventory lists them")
	return model.Component{}, exit.With(exit.Usage, &absentError{name, hint})
}

// edge prints the edges from the explained component to a provider; there being none
// is the answer no.
func edge(streams *stream.Streams, o *Options, e report.Explanation, provider string) (content []byte, has bool, err error) {
	var found []report.PlanEdge
	for _, edge := range e.Requires {
		if edge.To == provider {
			found = append(found, edge)
		}
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, edgesDocument{report.FormatVersion, e.Environment, append([]report.PlanEdge{}, found...)})
	} else {
		err = report.EdgesText(&b, report.EdgesBelow(found, source.Way(o.Path)))
	}
	if len(found) == 0 {
		message := fmt.Sprintf("%s does not require %s directly", e.Component, provider)
		if slices.Contains(e.Dependencies, provider) {
			message += ", only through others"
		}
		if slices.ContainsFunc(e.RequiredBy, func(edge report.PlanEdge) bool { return edge.From == provider }) {
			message += fmt.Sprintf("; it is the other way round: ladder explain '%s->%s'", provider, e.Component)
		}
		fmt.Fprintln(streams.Err, message)
	}
	return b.Bytes(), len(found) > 0, err
}

// edgesDocument is the JSON form of the edges between two components.
type edgesDocument struct {
	FormatVersion string            `json:"formatVersion"`
	Environment   string            `json:"environment"`
	Edges         []report.PlanEdge `json:"edges"`
}
