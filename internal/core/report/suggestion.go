package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Suggestion is the JSON document of plan --suggest.
type Suggestion struct {
	FormatVersion string            `json:"formatVersion"`
	Environment   string            `json:"environment"`
	Moves         []SuggestedMove   `json:"moves"`
	Limits        []SuggestedLimit  `json:"limits"`
	NewSteps      []string          `json:"newSteps"`
	Stuck         []StuckEdge       `json:"stuck"`
	Before        SuggestionMeasure `json:"before"`
	After         SuggestionMeasure `json:"after"`
	// Patch is a unified diff, empty where nothing moves.
	Patch string `json:"patch"`
}

// SuggestedMove gives a component another place.
type SuggestedMove struct {
	Component string     `json:"component"`
	From      string     `json:"from"`
	To        string     `json:"to"`
	Because   []PlanEdge `json:"because"`
	// Patched is false where the place is not written in a file that can be
	// changed mechanically.
	Patched bool `json:"patched"`
}

// SuggestedLimit is another maxUpdate of a step.
type SuggestedLimit struct {
	Step         string  `json:"step"`
	From         string  `json:"from"`
	To           string  `json:"to"`
	SavesSeconds float64 `json:"savesSeconds"`
}

// StuckEdge is an edge that no move keeps.
type StuckEdge struct {
	Edge PlanEdge `json:"edge"`
	Why  string   `json:"why"`
}

// SuggestionMeasure is what a plan promises.
type SuggestionMeasure struct {
	Makespan     PlanMakespan `json:"makespan"`
	CriticalPath PlanPath     `json:"criticalPath"`
	// Against counts the edges that the order contradicts.
	Against int `json:"against"`
}

// SuggestionDocument turns a suggestion into its JSON document. patched names the
// components that the patch moves.
func SuggestionDocument(s *plan.Suggestion, patch string, patched map[string]bool) Suggestion {
	d := Suggestion{
		FormatVersion: FormatVersion, Environment: s.Before.Environment, Moves: []SuggestedMove{}, Limits: []SuggestedLimit{},
		NewSteps: []string{}, Stuck: []StuckEdge{}, Before: measure(s.Before), After: measure(s.After), Patch: patch,
	}
	for _, m := range s.Moves {
		d.Moves = append(d.Moves, SuggestedMove{Component: m.Component, From: m.From, To: m.To, Because: edges(m.Because), Patched: patched[m.Component]})
	}
	for _, l := range s.Limits {
		d.Limits = append(d.Limits, SuggestedLimit{Step: l.Label, From: l.From, To: l.To, SavesSeconds: l.Saves.Seconds()})
	}
	for _, phase := range s.Steps {
		d.NewSteps = append(d.NewSteps, phase.String())
	}
	for _, e := range s.Stuck {
		d.Stuck = append(d.Stuck, StuckEdge{Edge: edges([]plan.Edge{e.Edge})[0], Why: e.Why})
	}
	return d
}

func measure(p *plan.Plan) SuggestionMeasure {
	return SuggestionMeasure{
		Makespan:     PlanMakespan{Seconds: p.Makespan.Seconds(), Bound: p.Bound.Seconds()},
		CriticalPath: PlanPath{Components: list(p.CriticalPath.Components), Seconds: p.CriticalPath.Duration.Seconds()},
		Against:      len(p.Against),
	}
}

// SuggestionText writes a suggestion for people, the patch last. where says of what is not
// in the patch where its place is written.
func SuggestionText(w io.Writer, s *plan.Suggestion, patch string, patched map[string]bool, where map[string]string) error {
	var b strings.Builder
	switch {
	case len(s.Moves) == 0 && len(s.After.Unplaced) > 0:
		fmt.Fprintf(&b, "No move is suggested for %s, and not every component has a place.\n", s.Before.Environment)
	case len(s.Moves) == 0 && len(s.Stuck) > 0:
		fmt.Fprintf(&b, "No move is suggested for %s, and not every component stands after what it requires.\n", s.Before.Environment)
	case len(s.Moves) == 0:
		fmt.Fprintf(&b, "Every component of %s stands after what it requires: nothing has to move.\n", s.Before.Environment)
	default:
		require := "they require"
		if len(s.After.Order) == 1 {
			require = "it requires"
		}
		fmt.Fprintf(&b, "%s of %s would stand after all %s if %s moved:\n\n", finding.Count(len(s.After.Order), "component"), s.Before.Environment, require, finding.Count(len(s.Moves), "component"))
		rows := [][]string{{"COMPONENT", "FROM", "TO", "BECAUSE"}}
		for _, m := range s.Moves {
			rows = append(rows, []string{m.Component, m.From, m.To, because(m)})
		}
		Table(&b, rows)
	}
	writeUnplaced(&b, s.After)
	if len(s.Steps) > 0 {
		var phases []string
		for _, phase := range s.Steps {
			phases = append(phases, phase.String())
		}
		fmt.Fprintf(&b, "\nThe ladder needs steps for %s.\n", strings.Join(phases, ", "))
	}
	for _, e := range s.Stuck {
		fmt.Fprintf(&b, "\n✕ %s requires %s (%s), and no number helps: %s\n", e.Edge.From, e.Edge.To, e.Edge.Reason, e.Why)
	}
	if len(s.Limits) > 0 {
		b.WriteString("\nA greater maxUpdate would shorten these steps:\n\n")
		rows := [][]string{{"STEP", "FROM", "TO", "SAVES"}}
		for _, l := range s.Limits {
			rows = append(rows, []string{l.Label, l.From, l.To, Clock(l.Saves)})
		}
		Table(&b, rows)
	}
	fmt.Fprintf(&b, "\nExpected time: %s, with the suggestion %s\n", Clock(s.Before.Makespan), Clock(s.After.Makespan))
	fmt.Fprintf(&b, "Critical path, %s: %s\n", Clock(s.After.CriticalPath.Duration), strings.Join(s.After.CriticalPath.Components, " → "))
	var byHand []string
	for _, m := range s.Moves {
		if !patched[m.Component] {
			line := "  " + m.Component
			if at := where[m.Component]; at != "" {
				line += ": " + Plain(at)
			}
			byHand = append(byHand, line)
		}
	}
	if len(byHand) > 0 {
		fmt.Fprintf(&b, "\nNot in the patch, since their place is not written in a file that can be changed mechanically:\n%s\n", strings.Join(byHand, "\n"))
	}
	if patch != "" {
		b.WriteString("\n" + patch)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func because(m plan.Move) string {
	var parts []string
	for _, e := range m.Because {
		part := "requires " + e.To
		if e.To == m.Component {
			part = "is required by " + e.From
		}
		if !slices.Contains(parts, part) { // declared and rendered as well
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		if m.From == "" {
			return "has no place yet"
		}
		return "makes room for what requires it"
	}
	if len(parts) > 3 {
		parts = append(parts[:2], fmt.Sprintf("%d more", len(parts)-2))
	}
	return strings.Join(parts, ", ")
}
