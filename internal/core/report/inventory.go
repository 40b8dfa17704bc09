package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Inventory is the JSON document of an inventory.
type Inventory struct {
	FormatVersion string           `json:"formatVersion"`
	Environment   string           `json:"environment"`
	Steps         []InventoryStep  `json:"steps"`
	Phases        []InventoryPhase `json:"phases"`
}

// InventoryStep is one step of the ladder.
type InventoryStep struct {
	Index     int      `json:"index"`
	Label     string   `json:"label"`
	Phases    []string `json:"phases"`
	Set       string   `json:"set,omitempty"`
	MaxUpdate string   `json:"maxUpdate"`
	Gate      string   `json:"gate"`
}

// InventoryPhase is one place of the ladder with what stands there.
type InventoryPhase struct {
	Phase      string               `json:"phase"`
	Step       int                  `json:"step"`
	Gate       string               `json:"gate"`
	Components []InventoryComponent `json:"components"`
}

// InventoryComponent is one component of an inventory.
type InventoryComponent struct {
	Name      string   `json:"name"`
	Path      string   `json:"path"`
	Domain    string   `json:"domain"`
	Project   string   `json:"project"`
	Namespace string   `json:"namespace"`
	Type      string   `json:"componentType"`
	Enabled   bool     `json:"enabled"`
	Requires  []string `json:"requires"`
	Late      []string `json:"late"`
}

// InventoryDocument turns an inventory into its JSON document.
func InventoryDocument(inv plan.Inventory) Inventory {
	d := Inventory{FormatVersion: FormatVersion, Environment: inv.Environment, Steps: []InventoryStep{}, Phases: []InventoryPhase{}}
	for _, s := range inv.Steps {
		step := InventoryStep{Index: s.Index, Label: s.Label, Phases: []string{}, Set: s.Set, MaxUpdate: s.MaxUpdate, Gate: s.Gate}
		for _, phase := range s.Phases {
			step.Phases = append(step.Phases, phase.String())
		}
		d.Steps = append(d.Steps, step)
	}
	for _, g := range inv.Phases {
		group := InventoryPhase{Phase: g.Label, Step: g.Step, Gate: g.Gate, Components: []InventoryComponent{}}
		for _, m := range g.Members {
			group.Components = append(group.Components, InventoryComponent{
				Name: m.Name, Path: m.File, Domain: m.Domain, Project: m.Project, Namespace: m.Namespace,
				Type: string(m.Type), Enabled: m.Enabled, Requires: list(m.Requires), Late: list(m.Late),
			})
		}
		d.Phases = append(d.Phases, group)
	}
	return d
}

// InventoryMarkdown writes the inventory as a Markdown document.
func InventoryMarkdown(w io.Writer, inv plan.Inventory) error {
	var b strings.Builder
	members, disabled := 0, 0
	for _, g := range inv.Phases {
		members += len(g.Members)
		for _, m := range g.Members {
			if !m.Enabled {
				disabled++
			}
		}
	}
	fmt.Fprintf(&b, "# Inventory of %s\n\n%s", inv.Environment, finding.Count(members, "component"))
	if disabled > 0 {
		fmt.Fprintf(&b, ", %d of them disabled", disabled)
	}
	empty := 0
	for _, s := range inv.Steps {
		if len(s.Components) == 0 {
			empty++
		}
	}
	fmt.Fprintf(&b, ", %s.\n\n", countSteps(len(inv.Steps), empty))
	b.WriteString("## Components\n\nComponent (descriptor) – domain / project / namespace\n\n")
	for _, g := range inv.Phases {
		label := g.Label
		if label == "" {
			label = "no place"
		}
		fmt.Fprintf(&b, "- **%s**", label)
		if g.Gate != "" {
			fmt.Fprintf(&b, " %s", escape(g.Gate))
		}
		b.WriteByte('\n')
		for _, m := range g.Members {
			fmt.Fprintf(&b, "  - `%s` (%s) – %s / %s / %s", escape(m.Name), escape(m.File), dash(m.Domain), dash(m.Project), dash(m.Namespace))
			if !m.Enabled {
				b.WriteString(" – disabled")
			}
			if len(m.Late) > 0 {
				fmt.Fprintf(&b, " – requires %s, which comes later", escape(strings.Join(m.Late, ", ")))
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("\n## Steps\n\n| step | phases | maxUpdate | readiness gate |\n| ---: | --- | ---: | --- |\n")
	for _, s := range inv.Steps {
		maxUpdate := s.MaxUpdate
		if maxUpdate == "" {
			maxUpdate = "all"
		}
		label := s.Label
		if s.Set != "" {
			label = s.Set + " " + label
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", s.Index, escape(stepText(label, s.About)), maxUpdate, escape(s.Gate))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// stepText is a step with what it is called and for.
func stepText(label string, about plan.About) string {
	if about.Title != "" {
		label += ": " + about.Title
	}
	if about.Purpose != "" {
		label += " – " + about.Purpose
	}
	return label
}

// InventoryPicture draws the inventory as frames of boxes.
func InventoryPicture(w io.Writer, inv plan.Inventory, title string) error {
	p := Picture{Title: title}
	sets := map[int]string{}
	for _, s := range inv.Steps {
		sets[s.Index] = s.Set
	}
	for _, g := range withEmpty(inv) {
		var heading string
		switch {
		case g.Label == "":
			heading = "NO PLACE"
		case g.Label == "pre":
			heading = "BEFORE ARGO CD"
		case isPhase(g.Label):
			heading = "PHASE " + g.Label
		case isStep(g.Label):
			heading = strings.ToUpper(g.Label)
		default:
			heading = "WAVE " + g.Label
		}
		if set := sets[g.Step]; set != "" {
			heading += " · " + strings.ToUpper(set)
		}
		if g.Title != "" {
			heading += ": " + strings.ToUpper(g.Title)
		}
		f := Frame{Heading: heading, About: g.Purpose, Text: g.Gate}
		for _, m := range g.Members {
			lines := []string{strings.TrimPrefix(strings.Join(nonEmpty(string(m.Type), m.Namespace), " in "), " in ")}
			if where := onlyIn(m.Only); where != "" {
				lines = append(lines, strings.ToUpper(where))
			}
			if !m.Enabled {
				lines = append(lines, "currently DISABLED")
			}
			f.Boxes = append(f.Boxes, Box{Title: m.Name, Lines: lines})
		}
		p.Frames = append(p.Frames, f)
	}
	parallel := "Components in one frame roll out in parallel"
	if slices.ContainsFunc(inv.Steps, func(s plan.Step) bool { return s.MaxUpdate != "" }) {
		parallel += ", as far as maxUpdate of its step allows"
	}
	p.Notes = []string{"Frames run from top to bottom; each waits until everything in the one before is Healthy", parallel}
	return WritePicture(w, p)
}

// withEmpty are the places of the ladder, those of the steps that hold no component as well.
func withEmpty(inv plan.Inventory) []plan.PhaseGroup {
	var groups []plan.PhaseGroup
	rest := inv.Phases
	for _, s := range inv.Steps {
		n := 0
		for n < len(rest) && rest[n].Step == s.Index {
			n++
		}
		if n == 0 {
			groups = append(groups, plan.PhaseGroup{Label: s.Label, Step: s.Index, About: s.About})
		}
		groups, rest = append(groups, rest[:n]...), rest[n:]
	}
	return append(groups, rest...) // without a step
}

// isPhase reports whether a place is a phase, or a step of several.
func isPhase(label string) bool {
	first, _, _ := strings.Cut(label, ",")
	return len(first) == 3 && strings.Trim(first, "0123456789") == ""
}

// isStep reports whether a place is a RollingSync step alone.
func isStep(label string) bool { return strings.HasPrefix(label, "step ") }

func nonEmpty(in ...string) []string {
	var out []string
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return escape(s)
}

// escape makes text safe inside Markdown and its tables.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'").Replace(Plain(s))
}
