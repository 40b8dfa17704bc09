package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Plan is the JSON document of a plan.
type Plan struct {
	FormatVersion string              `json:"formatVersion"`
	Environment   string              `json:"environment"`
	Policy        string              `json:"policy"`
	Order         []string            `json:"order"`
	Steps         []PlanStep          `json:"steps"`
	Edges         []PlanEdge          `json:"edges"`
	Against       []PlanEdge          `json:"against"`
	Dropped       []PlanEdge          `json:"dropped"`
	Cycles        [][]string          `json:"cycles"`
	Unplaced      []string            `json:"unplaced"`
	CriticalPath  PlanPath            `json:"criticalPath"`
	Makespan      PlanMakespan        `json:"makespan"`
	Schedule      []PlanSpan          `json:"schedule"`
	BlastRadius   map[string][]string `json:"blastRadius"`
	Unrendered    []Unrendered        `json:"unrendered"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	Index      int      `json:"index"`
	Label      string   `json:"label"`
	Phases     []string `json:"phases"`
	Set        string   `json:"set,omitempty"`
	MaxUpdate  string   `json:"maxUpdate"`
	Title      string   `json:"title,omitempty"`
	Purpose    string   `json:"purpose,omitempty"`
	Gate       string   `json:"gate"`
	Components []string `json:"components"`
	Disabled   []string `json:"disabled"`
}

// PlanEdge says that From, the consumer, requires To, the provider.
type PlanEdge struct {
	From     string             `json:"from"`
	To       string             `json:"to"`
	Strength string             `json:"strength"`
	Basis    string             `json:"basis"`
	Reason   string             `json:"reason"`
	Evidence []finding.Evidence `json:"evidence"`
}

// PlanPath is a chain of components and its expected length.
type PlanPath struct {
	Components []string `json:"components"`
	Seconds    float64  `json:"seconds"`
}

// PlanMakespan is the expected length of a rollout and its lower bound.
type PlanMakespan struct {
	Seconds float64 `json:"seconds"`
	Bound   float64 `json:"bound"`
}

// PlanSpan is the expected course of one component, in seconds from the start.
type PlanSpan struct {
	Component string  `json:"component"`
	Start     float64 `json:"start"`
	End       float64 `json:"end"`
}

// PlanDocument turns a plan into its JSON document.
func PlanDocument(p *plan.Plan, unrendered []Unrendered) Plan {
	d := Plan{
		FormatVersion: FormatVersion, Environment: p.Environment, Policy: string(p.Policy),
		Order: list(p.Order), Steps: []PlanStep{}, Edges: edges(p.Edges), Against: edges(slices.Concat(p.Against, p.Reversed)), Dropped: edges(p.Dropped),
		Cycles: [][]string{}, Unplaced: list(p.Unplaced),
		CriticalPath: PlanPath{Components: list(p.CriticalPath.Components), Seconds: p.CriticalPath.Duration.Seconds()},
		Makespan:     PlanMakespan{Seconds: p.Makespan.Seconds(), Bound: p.Bound.Seconds()},
		Schedule:     []PlanSpan{}, BlastRadius: map[string][]string{}, Unrendered: unrenderedList(unrendered),
	}
	d.Cycles = append(d.Cycles, p.Cycles...)
	for _, s := range p.Steps {
		step := PlanStep{
			Index: s.Index, Label: s.Label, Phases: []string{}, Set: s.Set, MaxUpdate: s.MaxUpdate,
			Title: s.Title, Purpose: s.Purpose, Gate: s.Gate,
			Components: list(s.Components), Disabled: list(s.Disabled),
		}
		for _, phase := range s.Phases {
			step.Phases = append(step.Phases, phase.String())
		}
		d.Steps = append(d.Steps, step)
	}
	for _, s := range p.Schedule {
		d.Schedule = append(d.Schedule, PlanSpan{Component: s.Component, Start: s.Start.Seconds(), End: s.End.Seconds()})
	}
	for _, name := range p.Order {
		if radius := p.BlastRadius(name); len(radius) > 0 {
			d.BlastRadius[name] = radius
		}
	}
	return d
}

func edges(in []plan.Edge) []PlanEdge {
	out := []PlanEdge{}
	for _, e := range in {
		evidence := e.Evidence
		if evidence == nil {
			evidence = []finding.Evidence{}
		}
		out = append(out, PlanEdge{
			From: e.From, To: e.To, Strength: string(e.Strength), Basis: string(e.Basis), Reason: e.Reason, Evidence: evidence,
		})
	}
	return out
}

// list makes a nil slice print as [] in JSON.
func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

func unrenderedList(in []Unrendered) []Unrendered {
	if in == nil {
		return []Unrendered{}
	}
	return in
}

// stepsOf counts the steps of a plan.
func stepsOf(p *plan.Plan) string {
	empty := 0
	for _, s := range p.Steps {
		if len(s.Components) == 0 {
			empty++
		}
	}
	return countSteps(len(p.Steps), empty)
}

// countSteps counts steps, and those of them that hold no component.
func countSteps(total, empty int) string {
	text := finding.Count(total, "step")
	if empty > 0 {
		text += fmt.Sprintf(" (%d empty)", empty)
	}
	return text
}

// PlanText writes a plan for people; way leads from where they stand to the root of the
// platform.
func PlanText(w io.Writer, p *plan.Plan, unrendered []Unrendered, way string) error {
	var b strings.Builder
	writeUnrendered(&b, UnrenderedBelow(unrendered, way), nil, false)
	fmt.Fprintf(&b, "Plan of %s under policy %s: %s in %s\n\n", p.Environment, p.Policy,
		finding.Count(len(p.Order), "component"), stepsOf(p))
	rows := [][]string{{"STEP", heading(p.Steps), "MAX", "COMPONENTS"}}
	for _, s := range p.Steps {
		names := strings.Join(s.Components, ", ")
		for _, d := range s.Disabled {
			if names != "" {
				names += ", "
			}
			names += d + " (disabled)"
		}
		if names == "" {
			names = "-"
		}
		rows = append(rows, []string{strconv.Itoa(s.Index), s.Label, s.MaxUpdate, names})
	}
	Table(&b, rows)
	fmt.Fprintf(&b, "\nCritical path, %s: %s\n", Clock(p.CriticalPath.Duration), strings.Join(p.CriticalPath.Components, " → "))
	fmt.Fprintf(&b, "Expected time: %s (lower bound %s)\n", Clock(p.Makespan), Clock(p.Bound))
	for _, f := range p.Judged {
		fmt.Fprintf(&b, "\n%s cycle: %s\n", map[finding.Severity]string{finding.Error: "✕", finding.Warning: "!", finding.Info: "i"}[f.Severity], f.Message)
	}
	if p.Judged == nil {
		stuck := ""
		if p.Policy == rollout.Edges {
			stuck = ": the policy edges starts none of them"
		}
		for _, c := range p.Cycles {
			fmt.Fprintf(&b, "\n✕ cycle: %s%s\n", strings.Join(c, " → "), stuck)
		}
	}
	for _, s := range p.Steps {
		if s.Label == plan.Unordered && s.Purpose != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", s.Label, s.Purpose)
		}
	}
	writeUnplaced(&b, p)
	for _, e := range p.Reversed {
		fmt.Fprintf(&b, "\n✕ Flux applies %s before %s, which it requires: %s; ladder lint says the way out\n", e.From, e.To, e.Reason)
		writeEvidence(&b, e, way)
	}
	if p.Policy == rollout.Edges && len(p.Against) > 0 {
		b.WriteString("\nThe policy edges goes by requirements, not by the written order, in which these come too early:\n")
	}
	for _, e := range p.Against {
		required := func(o plan.Edge) bool {
			return o.From == e.From && o.To == e.To && o.Reason == e.Reason && o.Strength == plan.Hard
		}
		switch {
		case p.Policy == rollout.Edges:
			fmt.Fprintf(&b, "  %s, before %s: %s\n", e.From, e.To, e.Reason)
		case e.Strength == plan.Hard:
			fmt.Fprintf(&b, "\n✕ %s comes before %s, which it requires%s\n", e.From, e.To, reasonOf(e))
		case slices.ContainsFunc(p.Edges, required):
			fmt.Fprintf(&b, "\n! %s comes before %s, which it requires%s; ladder lint says why that is no error\n", e.From, e.To, reasonOf(e))
		default:
			fmt.Fprintf(&b, "\n! %s comes before %s, which it wants and heals without: %s\n", e.From, e.To, e.Reason)
		}
		writeEvidence(&b, e, way)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeEvidence(b *strings.Builder, e plan.Edge, way string) {
	for _, v := range e.Evidence {
		fmt.Fprintf(b, "    %s  %s\n", position(v.File, v.Line).Below(way), v.Text)
	}
}

// writeUnplaced tells what has no place: for want of a phase, or of a step for it.
func writeUnplaced(b *strings.Builder, p *plan.Plan) {
	if len(p.Phaseless) > 0 {
		fmt.Fprintf(b, "\n✕ no phase, so that no step of the ladder matches: %s\n", strings.Join(p.Phaseless, ", "))
	}
	unmatched := slices.DeleteFunc(slices.Clone(p.Unplaced), func(name string) bool { return slices.Contains(p.Phaseless, name) })
	if len(unmatched) > 0 {
		fmt.Fprintf(b, "\n✕ no step matches: %s\n", strings.Join(unmatched, ", "))
	}
}

// heading is what the labels of steps are.
func heading(steps []plan.Step) string {
	has := func(is func(s plan.Step) bool) bool { return slices.ContainsFunc(steps, is) }
	switch {
	case has(func(s plan.Step) bool { return len(s.Phases) > 0 }):
		return "PHASE"
	case has(func(s plan.Step) bool { _, err := strconv.Atoi(s.Label); return err == nil }):
		return "WAVE"
	default:
		return "PLACE"
	}
}

// CompareText writes the policies side by side.
func CompareText(w io.Writer, cs []plan.Comparison) error {
	rows := [][]string{{"POLICY", "EXPECTED", "BOUND", "CRITICAL PATH", "AGAINST SERIAL"}}
	var serial time.Duration
	for _, c := range cs {
		if string(c.Policy) == "serial" {
			serial = c.Makespan
		}
	}
	for _, c := range cs {
		if c.Cyclic {
			rows = append(rows, []string{string(c.Policy), "cannot run: cycle", "", "", ""})
			continue
		}
		gain := "1.0x"
		if c.Makespan > 0 {
			gain = fmt.Sprintf("%.1fx", serial.Seconds()/c.Makespan.Seconds())
		}
		rows = append(rows, []string{string(c.Policy), Clock(c.Makespan), Clock(c.Bound), Clock(c.CriticalPath.Duration), gain})
	}
	var b strings.Builder
	Table(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

// Comparison is the JSON document of plan --compare.
type Comparison struct {
	FormatVersion string             `json:"formatVersion"`
	Environment   string             `json:"environment"`
	Policies      []ComparisonPolicy `json:"policies"`
}

// ComparisonPolicy is one policy of a comparison.
type ComparisonPolicy struct {
	Policy       string       `json:"policy"`
	Makespan     PlanMakespan `json:"makespan"`
	CriticalPath PlanPath     `json:"criticalPath"`
	Cyclic       bool         `json:"cyclic"`
}

// ComparisonDocument turns a comparison into its JSON document.
func ComparisonDocument(environment string, cs []plan.Comparison) Comparison {
	d := Comparison{FormatVersion: FormatVersion, Environment: environment, Policies: []ComparisonPolicy{}}
	for _, c := range cs {
		d.Policies = append(d.Policies, ComparisonPolicy{
			Policy: string(c.Policy), Cyclic: c.Cyclic,
			Makespan:     PlanMakespan{Seconds: c.Makespan.Seconds(), Bound: c.Bound.Seconds()},
			CriticalPath: PlanPath{Components: list(c.CriticalPath.Components), Seconds: c.CriticalPath.Duration.Seconds()},
		})
	}
	return d
}

// reasonOf is why an edge is one, behind a colon; a declared one says no more than that it is.
func reasonOf(e plan.Edge) string {
	if e.Reason == "requires" || e.Reason == "validates" {
		return ""
	}
	return ": " + e.Reason
}
