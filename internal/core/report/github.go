package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// GitHub writes findings as workflow commands, which GitHub Actions shows beside
// the lines that they are about, and a summary for the log. Source: GitHub,
// "Workflow commands for GitHub Actions".
func GitHub(w io.Writer, l Lint) error {
	var b strings.Builder
	all := merged(l.Findings)
	for _, f := range all {
		command := "notice"
		switch f.Severity {
		case finding.Error:
			command = "error"
		case finding.Warning:
			command = "warning"
		case finding.Info:
		}
		var properties []string
		if f.Position.File != "" {
			properties = append(properties, "file="+githubProperty(l.inRepository(f.Position.File)))
			if f.Position.Line > 0 {
				properties = append(properties, fmt.Sprintf("line=%d", f.Position.Line))
			}
		}
		title := f.Rule
		if f.Component != "" {
			title += " " + f.Component
		}
		if len(l.Environments) > 1 && f.environments[0] != "" {
			title += " (" + strings.Join(f.environments, ", ") + ")"
		}
		properties = append(properties, "title="+githubProperty(title))
		message := []string{f.Message}
		for _, e := range grounds(f.Finding) {
			text := e.Text
			if at := (finding.Position{File: l.inRepository(e.File), Line: e.Line}).String(); at != "" {
				text += " (" + at + ")"
			}
			message = append(message, text)
		}
		if fix := f.WayOut(); fix != "" {
			message = append(message, "fix: "+fix)
		}
		fmt.Fprintf(&b, "::%s %s::%s\n", command, strings.Join(properties, ","), githubData(strings.Join(message, "\n")))
	}
	left, _ := untold(l.Unrendered, l.Findings)
	for _, u := range left {
		fmt.Fprintf(&b, "not rendered: %s: %s\n", Plain(u.Component), Plain(u.Reason))
	}
	b.WriteString(l.summary(all) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// githubData escapes the message of a workflow command, and what would steer a
// terminal.
func githubData(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.ReplaceAll(Plain(lines[i]), "%", "%25")
	}
	return strings.Join(lines, "%0A")
}

// githubProperty escapes a property of a workflow command.
func githubProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubData(text))
}
