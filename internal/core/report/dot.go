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
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s; %srank=same; color=gray70;\n", s.Index, dotText(stepTitle(s)), dotTip(s))
		for _, name := range s.Components {
			var attributes []string
			if label := boxName(name, p.Only); label != name {
				attributes = append(attributes, "label="+dotText(label))
			}
			if d.Critical[name] {
				attributes = append(attributes, "penwidth=2.5")
			}
			text := ""
			if len(attributes) > 0 {
				text = " [" + strings.Join(attributes, ", ") + "]"
			}
			fmt.Fprintf(&b, "    %s%s;\n", dotText(name), text)
		}
		if len(s.Components) == 0 { // Graphviz draws no cluster without nodes
			fmt.Fprintf(&b, "    %s [label=%s, shape=plaintext];\n", dotText("nothing in step "+strconv.Itoa(s.Index)), dotText(nothing))
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

// nothing stands in a step that holds no component.
const nothing = "(none)"

// dotTip tells in a tooltip what a step is for, and what is true before the next.
func dotTip(s plan.Step) string {
	if tip := strings.Join(nonEmpty(s.Purpose, s.Gate), " "); tip != "" {
		return "tooltip=" + dotText(tip) + "; "
	}
	return ""
}

// dotText quotes a text: in DOT only the quote needs an escape, and a backslash
// would begin one.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(s) + `"`
}

// stepTitle names a step: "150: Vault (6 at a time)".
func stepTitle(s plan.Step) string {
	title := stepName(s)
	if s.Title != "" {
		title += ": " + s.Title
	}
	if limit := stepLimit(s); limit != "" {
		title += " (" + limit + ")"
	}
	return title
}

// stepName is the place of a step: "foundation 15", "-3".
func stepName(s plan.Step) string {
	if s.Set != "" {
		return s.Set + " " + s.Label
	}
	return s.Label
}

// stepLimit says how many of a step are in flight at once; empty for all.
func stepLimit(s plan.Step) string {
	switch {
	case s.Limit < 0:
		return "by hand"
	case s.Limit > 0 && s.Limit < len(s.Components):
		return strconv.Itoa(s.Limit) + " at a time"
	default:
		return ""
	}
}

// boxName is a component with the environments that have it, where not every one has.
func boxName(name string, only map[string][]string) string {
	if where := onlyIn(only[name]); where != "" {
		return name + " (" + where + ")"
	}
	return name
}

// onlyIn names environments: "main only".
func onlyIn(environments []string) string {
	if len(environments) == 0 {
		return ""
	}
	return strings.Join(environments, ", ") + " only"
}
