package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// PlanMermaid writes the ladder as a Mermaid flowchart, which Markdown pages of
// many forges draw: a subgraph per step, the critical path thick, what the order
// contradicts red. Source of the format: mermaid.js.org, "Flowcharts".
func PlanMermaid(w io.Writer, p *plan.Plan) error {
	d := p.Drawing()
	id := map[string]string{}
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "  subgraph s%d[\"%s\"]\n", s.Index, mermaidText(stepTitle(s)))
		for _, name := range s.Components {
			id[name] = fmt.Sprintf("c%d", len(id)+1)
			fmt.Fprintf(&b, "    %s[\"%s\"]\n", id[name], mermaidText(boxName(name, p.Only)))
		}
		if len(s.Components) == 0 {
			fmt.Fprintf(&b, "    none%d[\"%s\"]\n", s.Index, nothing)
		}
		b.WriteString("  end\n")
	}
	var critical, against []string
	for k, a := range d.Arrows {
		arrow := "-->"
		switch {
		case a.Against, a.Critical:
			arrow = "==>"
		case a.Soft:
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", id[a.Provider], arrow, id[a.Consumer])
		if a.Against {
			against = append(against, strconv.Itoa(k))
		}
	}
	for _, name := range p.Order {
		if d.Critical[name] {
			critical = append(critical, id[name])
		}
	}
	if len(critical) > 0 {
		b.WriteString("  classDef critical stroke-width:3px\n")
		fmt.Fprintf(&b, "  class %s critical\n", strings.Join(critical, ","))
	}
	if len(against) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s stroke:#c00000,stroke-width:3px\n", strings.Join(against, ","))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidText escapes a label with Mermaid's entity codes.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "\n", " ").Replace(s)
}
