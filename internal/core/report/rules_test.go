package report_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

var update = flag.Bool("update", false, "rewrite the pages of rules")

// listOfRules is the list of all rules, in Markdown, with links to their pages.
func listOfRules(rules []lint.Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\nMade from the rules themselves by `make generate`. `ladder explain RULE` prints the same.\n\n| rule | severity | |\n|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Summary)
	}
	return b.String()
}

// TestRulePages keeps docs/rules what the rules say of themselves.
func TestRulePages(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs", "rules")
	pages := map[string]string{"README.md": listOfRules(lint.All())}
	for _, r := range lint.All() {
		pages[r.ID+".md"] = report.RuleDocument(r)
	}
	have, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for _, file := range have {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	for _, file := range have {
		if _, ok := pages[filepath.Base(file)]; !ok {
			t.Errorf("%s is of no rule; run make generate", file)
		}
	}
	for name, page := range pages {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v; run make generate", err)
			continue
		}
		if diff := cmp.Diff(string(content), page); diff != "" {
			t.Errorf("docs/rules/%s is stale, run make generate (-file +rule):\n%s", name, diff)
		}
	}
}

// TestRulePagesSayHowToSuppress: every page shows a suppression of its own rule.
func TestRulePagesSayHowToSuppress(t *testing.T) {
	for _, r := range lint.All() {
		page := report.RuleDocument(r)
		if !strings.Contains(page, lint.IgnoreComment+" "+r.ID) {
			t.Errorf("%s does not say how it is suppressed", r.ID)
		}
		if strings.Count(page, "```")%2 != 0 {
			t.Errorf("%s has a block of code that does not end", r.ID)
		}
	}
}
