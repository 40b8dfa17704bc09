// Package explain is the command "ladder explain".
package explain

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
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
	o.Source.Register(cmd)
	source.CompleteEnvironment(cmd)
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
	loaded, err := source.Load(ctx, streams, global, o.Source)
	if err != nil {
		return err
	}
	p, err := plan.Build(session.PlanInput(loaded, rollout.Policy(o.Policy), nil, 0))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	consumer, provider, isEdge := strings.Cut(o.Subject, "->")
	c, err := find(loaded.Platform.Components, strings.TrimSpace(consumer))
	if err != nil {
		return err
	}
	explanation := report.Explain(p, c)
	for _, edges := range [][]report.PlanEdge{explanation.Requires, explanation.RequiredBy} {
		for i := range edges {
			edges[i].Evidence = loaded.Precise(edges[i].Evidence)
		}
	}
	if isEdge {
		if _, err := find(loaded.Platform.Components, strings.TrimSpace(provider)); err != nil {
			return err
		}
		return writeEdge(streams, o, explanation, strings.TrimSpace(provider))
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, explanation)
	} else {
		err = report.ExplainText(&b, explanation)
	}
	if err != nil {
		return err
	}
	return streams.WriteResult(o.Output, b.Bytes())
}

func find(components []model.Component, name string) (model.Component, error) {
	var similar []string
	for _, c := range components {
		if c.Name == name {
			return c, nil
		}
		if strings.Contains(c.Name, name) && len(similar) < 5 {
			similar = append(similar, c.Name)
		}
	}
	err := fmt.Errorf("there is no component %q", name)
	if len(similar) > 0 {
		err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(similar, " or "))
	}
	return model.Component{}, exit.With(exit.Usage, err)
}

// writeEdge prints the edges from the explained component to a provider; there
// being none is the answer no.
func writeEdge(streams *stream.Streams, o *Options, e report.Explanation, provider string) error {
	var found []report.PlanEdge
	for _, edge := range e.Requires {
		if edge.To == provider {
			found = append(found, edge)
		}
	}
	var b bytes.Buffer
	if o.Format == "json" {
		document := struct {
			FormatVersion string            `json:"formatVersion"`
			Edges         []report.PlanEdge `json:"edges"`
		}{report.FormatVersion, append([]report.PlanEdge{}, found...)}
		if err := report.JSON(&b, document); err != nil {
			return err
		}
	} else if err := report.EdgesText(&b, found); err != nil {
		return err
	}
	if err := streams.WriteResult(o.Output, b.Bytes()); err != nil {
		return err
	}
	if len(found) > 0 {
		return nil
	}
	message := fmt.Sprintf("%s does not require %s directly", e.Component, provider)
	if slices.Contains(e.Dependencies, provider) {
		message += ", only through others"
	}
	fmt.Fprintln(streams.Err, message)
	return exit.Silent(exit.No)
}
