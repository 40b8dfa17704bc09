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
	// Run returns the findings in any order. A rule whose findings are made
	// elsewhere (reading, rendering) has none.
	Run func(Input) []finding.Finding
}
