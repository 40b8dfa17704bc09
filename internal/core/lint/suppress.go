package lint

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Suppression hides the findings of a rule, for a reason.
type Suppression struct {
	Rule   string
	Reason string
	// Component limits it to one component; empty for every one.
	Component string
	// Environments limit it to some; empty for every one.
	Environments []string
	// File, From and To limit it to findings in these lines, also by the template that is their
	// first evidence, and to those of the components that are defined there. An empty File means everywhere.
	File     string
	From, To int
	// Position is where the suppression is written.
	Position finding.Position
}

// covers reports whether a place is in the lines of a suppression.
func (s Suppression) covers(p finding.Position) bool {
	return p.File == s.File && s.From <= p.Line && p.Line <= s.To
}

// hides reports whether a suppression is meant for a finding; defined is where
// its component is defined.
func (s Suppression) hides(f finding.Finding, defined finding.Position) bool {
	if s.Rule != f.Rule || s.Reason == "" {
		return false
	}
	if s.Component != "" && s.Component != f.Component {
		return false
	}
	if len(s.Environments) > 0 && !slices.Contains(s.Environments, f.Environment) {
		return false
	}
	return s.File == "" || s.covers(f.Position) || s.covers(template(f)) || (f.Component != "" && s.covers(defined))
}

// template is the template that takes the name which a finding is about from a file of values.
func template(f finding.Finding) finding.Position {
	if len(f.Evidence) == 0 || !strings.Contains(f.Evidence[0].File, "/templates/") {
		return finding.Position{}
	}
	return finding.Position{File: f.Evidence[0].File, Line: f.Evidence[0].Line}
}

// Suppressed is a finding that is hidden, and why.
type Suppressed struct {
	Finding finding.Finding
	By      Suppression
}

// Suppress parts findings into those that stay and those that are hidden. unused
// are the suppressions that hide none. The components say where those that
// findings name are defined, in all environments.
func Suppress(found []finding.Finding, by []Suppression, components []model.Component) (kept []finding.Finding, hidden []Suppressed, unused []Suppression) {
	if len(by) == 0 {
		return found, nil, nil
	}
	defined := make(map[[2]string]finding.Position, len(components))
	for _, c := range components {
		defined[[2]string{c.Environment, c.Name}] = c.Position
	}
	byRule := map[string][]int{}
	for i, s := range by {
		byRule[s.Rule] = append(byRule[s.Rule], i)
	}
	used := make([]bool, len(by))
	kept = make([]finding.Finding, 0, len(found))
	for _, f := range found {
		at := defined[[2]string{f.Environment, f.Component}]
		hider := -1
		for _, i := range byRule[f.Rule] {
			if by[i].hides(f, at) {
				used[i] = true
				if hider < 0 {
					hider = i
				}
			}
		}
		if hider < 0 {
			kept = append(kept, f)
			continue
		}
		hidden = append(hidden, Suppressed{Finding: f, By: by[hider]})
	}
	for i, s := range by {
		if !used[i] {
			unused = append(unused, s)
		}
	}
	return kept, hidden, unused
}
