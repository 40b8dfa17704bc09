package diff

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// The most that is printed for people; JSON has everything.
const (
	mostObjects  = 200
	mostFields   = 12
	mostNames    = 6
	mostRadii    = 20
	mostEvidence = 3
)

// printer writes a comparison in one of the forms for people.
type printer struct {
	strings.Builder
	markdown bool
}

// Text writes comparisons for a terminal.
func Text(w io.Writer, d Document) error { return write(w, d, &printer{}) }

// Markdown writes comparisons for a comment on a pull request.
func Markdown(w io.Writer, d Document) error { return write(w, d, &printer{markdown: true}) }

func write(w io.Writer, d Document, p *printer) error {
	for i, c := range d.Comparisons {
		if i > 0 {
			p.WriteByte('\n')
		}
		p.comparison(c)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *printer) comparison(c Comparison) {
	title := c.From.title() + " → " + c.To.title()
	if c.From.Environment == c.To.Environment {
		title = c.From.Environment + ": " + title
	}
	if p.markdown {
		fmt.Fprintf(p, "## Ladder: %s\n", title)
	} else {
		fmt.Fprintf(p, "%s\n", title)
	}
	p.unrendered(c)
	if !c.Differs {
		fmt.Fprintf(p, "\nNothing differs: %s, %s, %s.\n", finding.Count(c.To.Components, "component"), finding.Count(c.To.Edges, "edge"), finding.Count(c.To.Objects, "object"))
		return
	}
	p.summary(c)
	p.components(c)
	p.order(c)
	p.edges(c)
	p.objects(c)
	p.radii(c)
}

// title names a side.
func (s Source) title() string {
	name := s.Name
	switch {
	case name == ".":
		name = "the work tree"
	case s.Revision == name:
		name = name[:min(len(name), 12)]
	case s.Revision != "" && !strings.HasPrefix(s.Revision, name):
		name += " (" + s.Revision[:min(len(s.Revision), 12)] + ")"
	}
	if s.Missing {
		name += ", which has no such environment"
	}
	return name
}

// unrendered says at the top what is not compared: the names where it is the same
// on both sides, the reasons where one side has more.
func (p *printer) unrendered(c Comparison) {
	if len(c.NotCompared) == 0 {
		return
	}
	fmt.Fprintf(p, "\n! %s not rendered whole; the objects are not compared, nor what follows from them:\n", finding.Count(len(c.NotCompared), "component"))
	one, other := reasons(c.From.Unrendered), reasons(c.To.Unrendered)
	var both []string
	for _, name := range c.NotCompared {
		switch {
		case one[name] == "":
			p.row("%s, only in %s: %s", p.code(name), c.To.title(), other[name])
		case other[name] == "":
			p.row("%s, only in %s: %s", p.code(name), c.From.title(), one[name])
		default:
			both = append(both, name)
		}
	}
	if len(both) > 0 {
		p.row("on both sides: %s", strings.Join(both, ", "))
	}
}

// reasons gives the first reason for every component.
func reasons(all []report.Unrendered) map[string]string {
	out := map[string]string{}
	for _, u := range all {
		if out[u.Component] == "" {
			out[u.Component] = fmt.Sprintf("%s (%s:%d)", report.Plain(u.Reason), u.File, u.Line)
		}
	}
	return out
}

func (p *printer) summary(c Comparison) {
	rows := [][2]string{
		{"components", counts(len(c.Components.Added), len(c.Components.Removed), len(c.Components.Changed), len(c.Components.Moved))},
		{"edges", counts(len(c.Edges.Added), len(c.Edges.Removed), len(c.Edges.Changed), 0)},
		{"objects", counts(len(c.Objects.Added), len(c.Objects.Removed), len(c.Objects.Changed), 0)},
		{"expected time", change(c.Time.Makespan)},
		{"critical path", change(Seconds{c.Time.CriticalPath.From.Seconds, c.Time.CriticalPath.To.Seconds, c.Time.CriticalPath.Delta})},
	}
	p.WriteByte('\n')
	if p.markdown {
		p.WriteString("| | |\n| --- | --- |\n")
	}
	for _, r := range rows {
		if p.markdown {
			fmt.Fprintf(p, "| %s | %s |\n", r[0], r[1])
		} else {
			fmt.Fprintf(p, "  %-14s %s\n", r[0], r[1])
		}
	}
	// Of several chains of one length any is the longest.
	if path := c.Time.CriticalPath; path.Delta != 0 && !slices.Equal(path.From.Components, path.To.Components) && !c.From.Missing && !c.To.Missing {
		p.heading("Critical path")
		p.row("− %s", chain(path.From.Components))
		p.row("+ %s", chain(path.To.Components))
	}
	for _, cycle := range c.Cycles.Added {
		p.row("✕ new cycle: %s", strings.Join(cycle, " → "))
	}
	for _, cycle := range c.Cycles.Removed {
		p.row("✓ no cycle any more: %s", strings.Join(cycle, " → "))
	}
	if names := c.Unplaced.Added; len(names) > 0 {
		p.row("✕ no step matches any more: %s", some(names))
	}
	if names := c.Unplaced.Removed; len(names) > 0 {
		p.row("✓ a step matches now, or it is gone: %s", some(names))
	}
}

func (p *printer) components(c Comparison) {
	if n := c.Components; len(n.Added)+len(n.Removed)+len(n.Moved)+len(n.Changed) > 0 {
		p.heading("Components")
		renamed := map[string]string{}
		for _, r := range n.Renamed {
			renamed["-"+r.From], renamed["+"+r.To] = fmt.Sprintf(" (now %s, by its %s)", r.To, r.By), fmt.Sprintf(" (was %s, by its %s)", r.From, r.By)
		}
		p.list(len(n.Added), mostObjects, func(i int) { p.row("+ %s%s", n.Added[i], renamed["+"+n.Added[i].Name]) })
		p.list(len(n.Removed), mostObjects, func(i int) { p.row("− %s%s", n.Removed[i], renamed["-"+n.Removed[i].Name]) })
		p.list(len(n.Moved), mostObjects, func(i int) {
			m := n.Moved[i]
			p.row("↕ %s: %s → %s", p.code(m.Name), m.From.apart(m.To), m.To.apart(m.From))
		})
		p.list(len(n.Changed), mostObjects, func(i int) {
			p.row("~ %s", p.code(n.Changed[i].Name))
			p.fields(n.Changed[i].Fields)
		})
	}
	if n := c.Steps; len(n.Added)+len(n.Removed)+len(n.Changed) > 0 {
		p.heading("Steps")
		for _, label := range n.Added {
			p.row("+ %s", label)
		}
		for _, label := range n.Removed {
			p.row("− %s", label)
		}
		for _, s := range n.Changed {
			p.row("~ %s", s.Label)
			p.fields(s.Fields)
		}
	}
}

// String prints a component in one line.
func (c Component) String() string {
	text := c.Name
	if c.Place.Order != "" {
		text += " at " + c.Place.Order
	}
	if c.Type != "" {
		text += ", " + c.Type
	}
	if !c.Enabled {
		text += ", disabled"
	}
	return text + ", " + c.File
}

// apart prints a place so that it is told apart from another.
func (p Place) apart(other Place) string {
	order := p.Order
	if order == "" {
		order = "no place"
	}
	parts := []string{order}
	if p.Step != other.Step && p.Step != p.Order {
		step := "step " + p.Step
		if p.Step == "" {
			step = "no step"
		}
		parts = append(parts, step)
	}
	if p.Set != other.Set {
		set := p.Set
		if set == "" {
			set = "none"
		}
		parts = append(parts, "ApplicationSet "+set)
	}
	if !slices.Equal(p.Parents, other.Parents) {
		var names []string
		for _, parent := range p.Parents {
			if parent == "" || parent == model.AtOverlay {
				parent = "by hand"
			}
			names = append(names, parent)
		}
		parts = append(parts, "applied by "+strings.Join(names, " > "))
	}
	return strings.Join(parts, ", ")
}

func (p *printer) order(c Comparison) {
	if len(c.Order) == 0 {
		return
	}
	p.heading("Order")
	p.list(len(c.Order), mostObjects, func(i int) {
		r := c.Order[i]
		now := map[string][]string{}
		for _, rel := range r.Relations {
			now[rel.To] = append(now[rel.To], rel.Other)
		}
		var parts []string
		for _, where := range []string{before, together, after} {
			if names := now[where]; len(names) > 0 {
				parts = append(parts, where+" "+some(names))
			}
		}
		p.row("%s now comes %s", p.code(r.Component), strings.Join(parts, "; "))
	})
}

func (p *printer) edges(c Comparison) {
	n := c.Edges
	if len(n.Added)+len(n.Removed)+len(n.Changed) == 0 {
		return
	}
	p.heading("Edges")
	for _, group := range []struct {
		sign  string
		edges []Edge
	}{{"+", n.Added}, {"−", n.Removed}} {
		p.list(len(group.edges), mostObjects, func(i int) {
			e := group.edges[i]
			notes := ""
			if e.Against {
				notes += ", against the order"
			}
			if e.Uncertain {
				notes += ", not known on the other side"
			}
			p.row("%s %s requires %s (%s%s): %s", group.sign, p.code(e.From), p.code(e.To), e.Strength, notes, strings.Join(e.Reasons, "; "))
			p.list(len(e.Evidence), mostEvidence, func(j int) {
				v := e.Evidence[j]
				p.sub("%s  %s", finding.Position{File: v.File, Line: v.Line}, report.Plain(v.Text))
			})
		})
	}
	p.list(len(n.Changed), mostObjects, func(i int) {
		e := n.Changed[i]
		p.row("~ %s requires %s: %s → %s", p.code(e.From), p.code(e.To), e.Before, e.After)
	})
}

// String prints an edge's strength and reasons.
func (v EdgeView) String() string {
	text := v.Strength
	if v.Against {
		text += ", against the order"
	}
	return text + " (" + strings.Join(v.Reasons, "; ") + ")"
}

func (p *printer) objects(c Comparison) {
	n := c.Objects
	if len(n.Added)+len(n.Removed)+len(n.Changed) == 0 {
		return
	}
	p.heading("Objects")
	if p.markdown {
		fmt.Fprintf(p, "<details><summary>%s</summary>\n\n", counts(len(n.Added), len(n.Removed), len(n.Changed), 0))
	}
	for _, group := range []struct {
		sign    string
		objects []Object
	}{{"+", n.Added}, {"−", n.Removed}} {
		p.list(len(group.objects), mostObjects, func(i int) {
			o := group.objects[i]
			p.row("%s %s (%s)", group.sign, p.code(o.Resource.Human()), o.Component)
		})
	}
	p.list(len(n.Changed), mostObjects, func(i int) {
		o := n.Changed[i]
		owner := o.To.Component
		if o.From.Component != o.To.Component {
			owner = o.From.Component + " → " + o.To.Component
		}
		p.row("~ %s (%s)", p.code(o.Resource.Human()), owner)
		p.fields(o.Fields)
	})
	if p.markdown {
		p.WriteString("\n</details>\n")
	}
}

func (p *printer) radii(c Comparison) {
	if len(c.BlastRadius) == 0 {
		return
	}
	p.heading("Blast radius")
	p.list(len(c.BlastRadius), mostRadii, func(i int) {
		r := c.BlastRadius[i]
		var parts []string
		if len(r.Added) > 0 {
			parts = append(parts, "+ "+some(r.Added))
		}
		if len(r.Removed) > 0 {
			parts = append(parts, "− "+some(r.Removed))
		}
		p.row("%s stops %d → %d: %s", p.code(r.Component), r.From, r.To, strings.Join(parts, "; "))
	})
}

func (p *printer) fields(fields []Field) {
	p.list(len(fields), mostFields, func(i int) {
		f := fields[i]
		switch {
		case f.Op == Added:
			p.sub("+ %s: %s", p.code(f.Path), p.value(f.To))
		case f.Op == Removed:
			p.sub("− %s: %s", p.code(f.Path), p.value(f.From))
		case f.From == "another order" && f.To == "another order":
			p.sub("~ %s: another order", p.code(f.Path))
		default:
			p.sub("~ %s: %s → %s", p.code(f.Path), p.value(f.From), p.value(f.To))
		}
	})
}

// list prints up to most of n items, and how many are left out.
func (p *printer) list(n, most int, item func(i int)) {
	for i := range min(n, most) {
		item(i)
	}
	if n > most {
		p.sub("… %d more (--format json has all)", n-most)
	}
}

func (p *printer) heading(text string) {
	if p.markdown {
		fmt.Fprintf(p, "\n### %s\n\n", text)
		return
	}
	fmt.Fprintf(p, "\n%s\n", text)
}

func (p *printer) row(format string, args ...any) {
	if p.markdown {
		p.WriteString("- ")
	} else {
		p.WriteString("  ")
	}
	fmt.Fprintf(p, format+"\n", args...)
}

func (p *printer) sub(format string, args ...any) {
	if p.markdown {
		p.WriteString("  - ")
	} else {
		p.WriteString("      ")
	}
	fmt.Fprintf(p, format+"\n", args...)
}

// code sets off a name in Markdown.
func (p *printer) code(text string) string {
	if !p.markdown {
		return text
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// value sets off a value, which may hold anything.
func (p *printer) value(text string) string { return p.code(report.Plain(text)) }

func counts(added, removed, changed, moved int) string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{added, "added"}, {removed, "removed"}, {changed, "changed"}, {moved, "moved"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(parts) == 0 {
		return "the same"
	}
	return strings.Join(parts, ", ")
}

func change(s Seconds) string {
	clock := func(seconds float64) string { return report.Clock(time.Duration(seconds * float64(time.Second))) }
	switch {
	case s.Delta > 0:
		return fmt.Sprintf("%s → %s (+%s)", clock(s.From), clock(s.To), clock(s.Delta))
	case s.Delta < 0:
		return fmt.Sprintf("%s → %s (−%s)", clock(s.From), clock(s.To), clock(-s.Delta))
	default:
		return clock(s.To)
	}
}

func chain(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " → ")
}

// some names a few of many.
func some(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}
