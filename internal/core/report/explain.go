package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Explanation says why a component stands where it stands.
type Explanation struct {
	FormatVersion string           `json:"formatVersion"`
	Component     string           `json:"component"`
	Environment   string           `json:"environment"`
	Phase         string           `json:"phase"`
	Step          int              `json:"step"` // 0: in no step
	Gate          string           `json:"gate"`
	Type          string           `json:"componentType"`
	Enabled       bool             `json:"enabled"`
	Position      finding.Position `json:"position"`
	// Requires are its edges, RequiredBy those of its dependants.
	Requires   []PlanEdge `json:"requires"`
	RequiredBy []PlanEdge `json:"requiredBy"`
	// Against are those it requires that stand in a later step.
	Against []string `json:"against"`
	// Dependencies is all it requires, BlastRadius all that cannot become
	// Healthy without it, both transitively.
	Dependencies []string `json:"dependencies"`
	BlastRadius  []string `json:"blastRadius"`
	// Critical is set when it lies on the critical path.
	Critical     bool    `json:"critical"`
	StartSeconds float64 `json:"startSeconds"`
	EndSeconds   float64 `json:"endSeconds"`
	// Unrendered are the parts of it that were not rendered: what they require and
	// provide is not known.
	Unrendered []Unrendered `json:"unrendered"`
}

// Explain collects what a plan says about one component.
func Explain(p *plan.Plan, c model.Component, unrendered []Unrendered) Explanation {
	e := Explanation{
		FormatVersion: FormatVersion, Component: c.Name, Environment: p.Environment, Phase: c.Order(),
		Type: string(c.Type), Enabled: c.Enabled, Position: c.Position,
		Requires: []PlanEdge{}, RequiredBy: []PlanEdge{}, Against: []string{},
		Dependencies: list(p.Dependencies(c.Name)), BlastRadius: list(p.BlastRadius(c.Name)), Unrendered: []Unrendered{},
	}
	for _, u := range unrendered {
		if u.Component == c.Name {
			e.Unrendered = append(e.Unrendered, u)
		}
	}
	for _, s := range p.Steps {
		for _, name := range append(append([]string{}, s.Components...), s.Disabled...) {
			if name == c.Name {
				e.Step, e.Gate = s.Index, s.Gate
			}
		}
	}
	for _, group := range [][]plan.Edge{p.Edges, p.Reversed, p.Dropped, p.Unplanned} {
		for _, edge := range group {
			switch c.Name {
			case edge.From:
				e.Requires = append(e.Requires, edges([]plan.Edge{edge})...)
			case edge.To:
				e.RequiredBy = append(e.RequiredBy, edges([]plan.Edge{edge})...)
			}
		}
	}
	for _, edge := range slices.Concat(p.Against, p.Reversed) {
		if edge.From == c.Name && !slices.Contains(e.Against, edge.To) {
			e.Against = append(e.Against, edge.To)
		}
	}
	for _, name := range p.CriticalPath.Components {
		e.Critical = e.Critical || name == c.Name
	}
	for _, s := range p.Schedule {
		if s.Component == c.Name {
			e.StartSeconds, e.EndSeconds = s.Start.Seconds(), s.End.Seconds()
		}
	}
	return e
}

// ExplainText writes an explanation for people.
func ExplainText(w io.Writer, e Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  (%s)\n", e.Component, e.Position)
	place := "phase " + e.Phase
	if !isPhase(e.Phase) {
		place = "wave " + e.Phase
	}
	switch {
	case isStep(e.Phase):
		place = e.Phase
	case e.Phase == "" && e.Step > 0:
		place = fmt.Sprintf("step %d", e.Step)
	case e.Phase == "":
		place = "no place in the ladder"
	case e.Step > 0:
		place += fmt.Sprintf(", step %d", e.Step)
	}
	if e.Type != "" {
		place += ", " + e.Type
	}
	fmt.Fprintf(&b, "  %s, environment %s\n", place, e.Environment)
	if !e.Enabled {
		b.WriteString("  disabled: it keeps its place and is not rolled out\n")
	} else {
		fmt.Fprintf(&b, "  expected to run from %.0fs to %.0fs", e.StartSeconds, e.EndSeconds)
		if e.Critical {
			b.WriteString(", on the critical path")
		}
		b.WriteByte('\n')
	}
	for _, u := range e.Unrendered {
		fmt.Fprintf(&b, "  ! not rendered, so what it requires and provides is not known: %s (%s)\n", Plain(u.Reason), Plain(position(u.File, u.Line).String()))
	}
	section(&b, "Requires", e.Requires, func(x PlanEdge) string { return x.To })
	section(&b, "Required by", e.RequiredBy, func(x PlanEdge) string { return x.From })
	fmt.Fprintf(&b, "\nBlast radius: %s cannot become Healthy without it", finding.Count(len(e.BlastRadius), "component"))
	if len(e.BlastRadius) > 0 {
		fmt.Fprintf(&b, "\n  %s", strings.Join(e.BlastRadius, ", "))
	}
	b.WriteByte('\n')
	for _, name := range e.Against {
		fmt.Fprintf(&b, "\n✕ %s comes later, and is required: the order is wrong\n", name)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func section(b *strings.Builder, title string, es []PlanEdge, other func(PlanEdge) string) {
	fmt.Fprintf(b, "\n%s:\n", title)
	if len(es) == 0 {
		b.WriteString("  nothing that is known\n")
	}
	for _, e := range es {
		fmt.Fprintf(b, "  %s  %s\n", other(e), reason(e))
		for _, v := range e.Evidence {
			fmt.Fprintf(b, "    %s  %s\n", finding.Position{File: v.File, Line: v.Line}, v.Text)
		}
	}
}

// reason says why an edge is there, on what basis, and how strong it is.
func reason(e PlanEdge) string {
	if e.Reason == "requires" {
		return fmt.Sprintf("%s (%s)", e.Basis, e.Strength)
	}
	return fmt.Sprintf("%s (%s, %s)", e.Reason, e.Basis, e.Strength)
}

// EdgesText writes edges with their evidence.
func EdgesText(w io.Writer, es []PlanEdge) error {
	var b strings.Builder
	for _, e := range es {
		fmt.Fprintf(&b, "%s requires %s: %s\n", e.From, e.To, reason(e))
		for _, v := range e.Evidence {
			fmt.Fprintf(&b, "  %s  %s", finding.Position{File: v.File, Line: v.Line}, v.Text)
			if v.Field != "" {
				fmt.Fprintf(&b, "  (%s)", strings.TrimSpace(v.Object+" "+v.Field))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
