package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Document is the JSON form of an import.
type Document struct {
	FormatVersion string           `json:"formatVersion"`
	From          string           `json:"from"`
	Out           string           `json:"out"`
	DryRun        bool             `json:"dryRun"`
	Environments  []string         `json:"environments"`
	Found         map[string]int   `json:"found"`
	Summary       Summary          `json:"summary"`
	Components    []ReportedMember `json:"components"`
	Notes         []Note           `json:"notes"`
	StateFiles    []StateFile      `json:"stateFiles,omitempty"`
	Files         []string         `json:"files"`
}

// ReportedMember is one component of an import.
type ReportedMember struct {
	Name         string           `json:"name"`
	Domain       string           `json:"domain"`
	Phase        string           `json:"phase"`
	Type         model.Type       `json:"type"`
	Group        string           `json:"group,omitempty"`
	Environments []string         `json:"environments"`
	Enabled      []string         `json:"enabled"`
	Requires     []string         `json:"requires"`
	Position     finding.Position `json:"position"`
}

// Report is what an import tells.
type Report struct {
	// From names the tool: "helmfile".
	From, Out string
	DryRun    bool
	Result    *Result
}

func (r Report) document() Document {
	p := r.Result.Platform
	d := Document{
		FormatVersion: report.FormatVersion, From: r.From, Out: r.Out, DryRun: r.DryRun,
		Environments: slices.Sorted(slices.Values(p.Environments)), Found: p.Found, Summary: r.Result.Summary(),
		Components: p.members(), Notes: []Note{}, StateFiles: p.leaving(), Files: []string{},
	}
	for _, n := range p.Notes {
		n.Message, n.Hint = finding.Redact(n.Message), finding.Redact(n.Hint)
		d.Notes = append(d.Notes, n)
	}
	for _, f := range r.Result.Files {
		d.Files = append(d.Files, f.Path)
	}
	return d
}

// members are the components by phase, then name.
func (p *Platform) members() []ReportedMember {
	var all []ReportedMember
	for _, c := range p.Components {
		m := ReportedMember{Name: c.Name, Domain: c.Domain, Phase: c.Phase.String(), Type: c.Type, Environments: []string{}, Enabled: []string{}, Requires: []string{}, Position: p.at(c)}
		if c.Group >= 0 && c.Group < len(p.Groups) {
			m.Group = p.Groups[c.Group].Name
		}
		for _, env := range slices.Sorted(slices.Values(p.Environments)) {
			d := c.In[env]
			if d == nil {
				continue
			}
			m.Environments = append(m.Environments, env)
			if d.Enabled && (d.HasSource() || c.Type == model.Smoke) {
				m.Enabled = append(m.Enabled, env)
			}
			m.Requires = append(m.Requires, d.Requires...)
		}
		slices.Sort(m.Requires)
		m.Requires = slices.Compact(m.Requires)
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b ReportedMember) int {
		return cmp.Or(strings.Compare(a.Phase, b.Phase), strings.Compare(a.Name, b.Name))
	})
	return all
}

// JSON writes the report as JSON.
func (r Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r.document())
}

// Text writes the report for people.
func (r Report) Text(w io.Writer) error {
	d := r.document()
	var b strings.Builder
	var found []string
	for _, key := range sortedKeys(d.Found) {
		found = append(found, finding.Count(d.Found[key], strings.TrimSuffix(key, "s")))
	}
	fmt.Fprintf(&b, "%s: %s in %s\n", r.From, strings.Join(found, ", "), strings.Join(d.Environments, ", "))
	fmt.Fprintf(&b, "%s (%d enabled), %s; %d not carried over, %d carried over in another form, %s\n", finding.Count(d.Summary.Components, "component"), d.Summary.Enabled,
		finding.Count(d.Summary.Edges, "requirement"), d.Summary.Lost, d.Summary.Changed, finding.Count(d.Summary.Told, "note"))
	b.WriteString("\nOrder\n")
	phase := ""
	for _, m := range d.Components {
		shown := m.Phase
		if m.Phase == phase {
			shown = "   "
		}
		phase = m.Phase
		fmt.Fprintf(&b, "  %s  %s (%s, %s)", shown, report.Plain(m.Name), m.Domain, m.Type)
		if len(m.Enabled) == 0 {
			b.WriteString(" disabled")
		}
		if len(m.Requires) > 0 {
			fmt.Fprintf(&b, " requires %s", strings.Join(m.Requires, ", "))
		}
		b.WriteByte('\n')
	}
	titles := map[Level]string{Lost: "Not carried over", Changed: "Carried over in another form", Told: "Worth knowing"}
	for _, level := range []Level{Lost, Changed, Told} {
		first := true
		for _, n := range d.Notes {
			if n.Level != level {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n%s\n", titles[level])
				first = false
			}
			b.WriteString("  " + n.line() + "\n")
		}
	}
	writeLeaving(&b, d.StateFiles)
	if r.DryRun {
		fmt.Fprintf(&b, "\n%s would be written to %s\n", finding.Count(len(d.Files), "file"), r.Out)
	} else {
		fmt.Fprintf(&b, "\n%d of %d files written to %s\n", d.Summary.Written, len(d.Files), r.Out)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line is a note for people: position, what, message and hint.
func (n Note) line() string {
	var b strings.Builder
	if at := n.Position.String(); at != "" {
		b.WriteString(at + ": ")
	}
	if n.Component != "" {
		b.WriteString(report.Plain(n.Component))
		if n.Environment != "" {
			b.WriteString(" in " + n.Environment)
		}
		b.WriteString(": ")
	} else if n.Environment != "" {
		b.WriteString("in " + n.Environment + ": ")
	}
	b.WriteString(report.Plain(n.Message))
	if n.Hint != "" {
		b.WriteString("; " + report.Plain(n.Hint))
	}
	fmt.Fprintf(&b, " [%s]", n.What)
	return b.String()
}
