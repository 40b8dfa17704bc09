package session

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Judged are the findings of a platform at the levels that it asks for, without those that
// somebody suppressed, and with what a rollout under a policy does not show by itself: smokes
// of which nothing can fail, components that require each other, and phases that nobody has.
func Judged(loaded *analysis.Result, policy rollout.Policy) []finding.Finding {
	p := loaded.Platform
	rules := slices.DeleteFunc(lint.Rules(), func(r lint.Rule) bool { return r.ID != lint.RuleSmokeTestsNothing && r.ID != lint.RuleCycle })
	in, options := loaded.Lint(), lint.Options{Rules: rules, Levels: p.Lint.Rules}
	found := lint.Run(in, options)
	if policy != rollout.Edges {
		found = append(found, lint.WithoutPhases(in, options)...)
	}
	kept, _ := Unsuppressed(loaded, found)
	return kept
}

// Milder gives requirements that the order contradicts the strength that lint finds in them:
// soft where it finds nothing that is at least so severe.
func Milder(loaded *analysis.Result, against []plan.Edge, least finding.Severity) []plan.Edge {
	return lint.Milder(loaded.Lint(), against, least, lint.Options{Levels: loaded.Platform.Lint.Rules},
		func(found []finding.Finding) ([]finding.Finding, []lint.Suppressed) {
			return Unsuppressed(loaded, found)
		})
}

// Reversed are the requirements that can never be kept because Flux applies the consumer first, as
// lint finds.
func Reversed(loaded *analysis.Result) []plan.Edge {
	return slices.DeleteFunc(Milder(loaded, slices.Clone(loaded.Reversed), finding.Error), func(e plan.Edge) bool { return e.Strength != plan.Hard })
}

// Unsuppressed parts findings into those that stay and those that somebody suppressed, in
// the files that they are about or in ladder.yaml.
func Unsuppressed(loaded *analysis.Result, found []finding.Finding) (kept []finding.Finding, hidden []lint.Suppressed) {
	p := loaded.Platform
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
	kept, hidden, _ = lint.Suppress(found, by, p.Components)
	return kept, hidden
}
