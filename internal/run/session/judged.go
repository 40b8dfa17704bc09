package session

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// Judged are the findings of a platform at the levels that it asks for, without those that
// somebody suppressed, and with what a rollout does not show by itself: smokes of which
// nothing can fail, and components that require each other.
func Judged(loaded *analysis.Result) []finding.Finding {
	p := loaded.Platform
	rules := slices.DeleteFunc(lint.Rules(), func(r lint.Rule) bool { return r.ID != lint.RuleSmokeTestsNothing && r.ID != lint.RuleCycle })
	found := lint.Run(loaded.Lint(), lint.Options{Rules: rules, Levels: p.Lint.Rules})
	var by []lint.Suppression
	for _, s := range p.Lint.Suppress {
		by = append(by, lint.Suppression{Rule: s.Rule, Component: s.Component, Reason: s.Reason, Position: s.Position})
	}
	tree, read := p.Tree(), map[string]bool{}
	comments := func(file string) {
		if read[file] {
			return
		}
		read[file] = true
		if content, err := tree.Read(file); err == nil {
			by = append(by, lint.Suppressions(file, string(content))...)
		}
	}
	for _, f := range found {
		comments(f.Position.File)
		for _, c := range p.Components {
			if c.Name == f.Component {
				comments(c.Position.File)
			}
		}
	}
	kept, _, _ := lint.Suppress(found, by, p.Components)
	return kept
}
