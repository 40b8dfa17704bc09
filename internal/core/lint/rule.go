package lint

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Rule is one rule. Ids are stable.
type Rule struct {
	ID string
	// Summary is one line, Doc the whole documentation in Markdown: what is wrong,
	// why it matters, a bad and a good example, how to fix and how to suppress.
	Summary, Doc string
	Severity     finding.Severity // the default; a finding may be milder
	// Gravest is the severity of findings that are graver than that; empty where none is.
	Gravest finding.Severity
	// Run returns the findings in any order. A rule whose findings are made
	// elsewhere (reading, rendering) has none.
	Run func(Input) []finding.Finding
}

// withErrors is a rule some of whose findings are errors, though most are milder.
func (r Rule) withErrors() Rule {
	r.Gravest = finding.Error
	return r
}
