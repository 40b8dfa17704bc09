package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// LintMarkdown writes what lint found as Markdown: for a job summary or a comment
// on a pull request.
func LintMarkdown(w io.Writer, l Lint) error {
	var b strings.Builder
	all := merged(l.Findings)
	fmt.Fprintf(&b, "## Ladder lint\n\n%s.\n", markdown(l.summary(all)))
	if left, _ := untold(l.Unrendered, l.Findings); len(left) > 0 {
		b.WriteString("\n### Not rendered\n\nNothing is known of what these hold.\n\n")
		for _, u := range left {
			fmt.Fprintf(&b, "- %s %s: %s\n", l.code(finding.Position{File: u.File, Line: u.Line}), markdown(u.Component), markdown(u.Reason))
		}
	}
	for _, section := range []struct {
		severity finding.Severity
		title    string
	}{{finding.Error, "Errors"}, {finding.Warning, "Warnings"}, {finding.Info, "Notes"}} {
		if l.number(section.severity) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n", section.title)
		for _, f := range all {
			if f.Severity == section.severity {
				l.item(&b, f)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l Lint) item(b *strings.Builder, f shared) {
	fmt.Fprintf(b, "- [`%s`](%s%s.md) %s ", f.Rule, rulePages, f.Rule, l.code(f.Position))
	if f.Component != "" {
		fmt.Fprintf(b, "**%s** ", markdown(f.Component))
	}
	if len(l.Environments) > 1 && f.environments[0] != "" {
		fmt.Fprintf(b, "in %s ", markdown(strings.Join(f.environments, ", ")))
	}
	fmt.Fprintf(b, "%s\n", markdown(f.Message))
	for _, e := range grounds(f.Finding) {
		fmt.Fprintf(b, "  - %s %s\n", l.code(finding.Position{File: e.File, Line: e.Line}), markdown(e.Text))
	}
	if fix := f.WayOut(); fix != "" {
		fmt.Fprintf(b, "  - fix: %s\n", markdown(fix))
	}
}

// code writes a position relative to the top of the repository.
func (l Lint) code(p finding.Position) string {
	p.File = l.inRepository(p.File)
	if p.File == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(Plain(p.String()), "`", "'") + "`"
}

// markdown escapes text: what a chart says must not become markup.
func markdown(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "~", "\\~", "@", "&#64;", "#", "\\#",
	).Replace(Plain(text))
}
