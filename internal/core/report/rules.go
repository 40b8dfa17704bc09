package report

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// RuleDocument is the documentation of a rule, in Markdown.
func RuleDocument(r lint.Rule) string {
	var b strings.Builder
	severity := string(r.Severity)
	if r.Gravest != "" {
		severity += " or " + string(r.Gravest)
	}
	fmt.Fprintf(&b, "# %s\n\n%s. Severity: %s.\n\n%s\n", r.ID, r.Summary, severity, strings.TrimSpace(r.Doc))
	if !strings.Contains(r.Doc, lint.IgnoreComment+" "+r.ID) {
		fmt.Fprintf(&b, `
## Suppress

With a reason, above the line that the finding names or at the head of its document:

`+"```yaml\n# %s %s the reason\n```"+`

or for a component, in `+"`ladder.yaml`:\n\n```yaml\nlint:\n  suppress:\n    - {rule: %s, component: NAME, reason: the reason}\n```\n",
			lint.IgnoreComment, r.ID, r.ID)
	}
	return b.String()
}

// RulesText lists rules for people.
func RulesText(rules []lint.Rule) string {
	rows := [][]string{{"RULE", "SEVERITY", "FINDS"}}
	for _, r := range rules {
		rows = append(rows, []string{r.ID, string(r.Severity), r.Summary})
	}
	var b strings.Builder
	Table(&b, rows)
	return b.String()
}

// Rules is the JSON document of rules.
type Rules struct {
	FormatVersion string       `json:"formatVersion"`
	Rules         []ListedRule `json:"rules"`
}

// ListedRule is one rule.
type ListedRule struct {
	ID       string           `json:"id"`
	Severity finding.Severity `json:"severity"`
	Summary  string           `json:"summary"`
	// Doc is Markdown.
	Doc string `json:"doc"`
}

// RulesDocument turns rules into their JSON document.
func RulesDocument(rules []lint.Rule) Rules {
	d := Rules{FormatVersion: FormatVersion, Rules: []ListedRule{}}
	for _, r := range rules {
		d.Rules = append(d.Rules, ListedRule{r.ID, r.Severity, r.Summary, RuleDocument(r)})
	}
	return d
}
