package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// PlanDOT writes the ladder as a Graphviz graph: a cluster per step, arrows from
// provider to consumer, the critical path bold, what the order contradicts red.
// Source of the format: graphviz.org, "DOT Language".
func PlanDOT(w io.Writer, p *plan.Plan) error {
	d := p.Drawing()
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotText("ladder of "+p.Environment))
	b.WriteString("  rankdir=LR; newrank=true; node [shape=box, style=rounded, fontname=\"sans-serif\"]; edge [color=gray40];\n")
	for _, s := range p.Steps {
		if len(s.Components) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s; rank=same; color=gray70;\n", s.Index, dotText(stepTitle(s)))
		for _, name := range s.Components {
			attributes := ""
			if d.Critical[name] {
				attributes = " [penwidth=2.5]"
			}
			fmt.Fprintf(&b, "    %s%s;\n", dotText(name), attributes)
		}
		b.WriteString("  }\n")
	}
	for _, a := range d.Arrows {
		attributes := []string{"tooltip=" + dotText(a.Reason)}
		switch {
		case a.Against:
			attributes = append(attributes, "color=red", "constraint=false", "penwidth=2")
		case a.Critical:
			attributes = append(attributes, "color=black", "penwidth=2.5")
		}
		if a.Soft {
			attributes = append(attributes, "style=dashed")
		}
		fmt.Fprintf(&b, "  %s -> %s [%s];\n", dotText(a.Provider), dotText(a.Consumer), strings.Join(attributes, ", "))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotText quotes a text: in DOT only the quote needs an escape, and a backslash
// would begin one.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}

// stepTitle names a step: "150 (6 at a time)".
func stepTitle(s plan.Step) string {
	title := s.Label
	if s.Set != "" {
		title = s.Set + " " + title
	}
	switch {
	case s.Limit < 0:
		title += " (by hand)"
	case s.Limit > 0 && s.Limit < len(s.Components):
		title += " (" + strconv.Itoa(s.Limit) + " at a time)"
	}
	return title
}
