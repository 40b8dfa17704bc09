package lint

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The ways to suppress a finding in a file.
const (
	// IgnoreComment begins a comment: "# ladder:ignore RULE reason".
	IgnoreComment = "ladder:ignore"
	// IgnoreAnnotation is an annotation of an object or Application, whose value
	// is "RULE: reason", or several of them, separated by semicolons or lines.
	IgnoreAnnotation = "ladder.rollout-ladder.dev/ignore"
)

// Suppressions reads those that a file holds.
//
// A comment speaks of the line that it ends or that follows it, past further
// comments. One at the head of a YAML document speaks of the whole document, and
// so does an annotation. Templates are read like any other text.
func Suppressions(file string, content string) []Suppression {
	if !strings.Contains(content, IgnoreComment) && !strings.Contains(content, IgnoreAnnotation) {
		return nil
	}
	lines := strings.Split(content, "\n")
	var all []Suppression
	for start := 0; start < len(lines); {
		end := start
		for end < len(lines) && (end == start || !separates(lines[end])) {
			end++
		}
		all = append(all, inDocument(file, lines, start, end)...)
		start = end
	}
	return all
}

// separates reports whether a line begins a YAML document.
func separates(line string) bool {
	return line == "---" || strings.HasPrefix(line, "--- ") || strings.TrimRight(line, "\r \t") == "---"
}

// inDocument reads the suppressions of the lines from start to before end, which
// count from 0.
func inDocument(file string, lines []string, start, end int) []Suppression {
	var all []Suppression
	head := true
	for i := start; i < end; i++ {
		line := lines[i]
		text := strings.TrimSpace(line)
		at := finding.Position{File: file, Line: i + 1}
		if rule, reason, ok := comment(text); ok {
			s := Suppression{Rule: rule, Reason: reason, File: file, From: i + 1, To: i + 1, Position: at}
			switch {
			case head && silent(text):
				s.From, s.To = start+1, end
			case silent(text):
				s.To = following(lines, i, end) + 1
			}
			all = append(all, s)
		}
		if strings.HasPrefix(strings.TrimLeft(text, `"'`), IgnoreAnnotation) {
			for _, entry := range annotation(lines, i, end) {
				rule, reason, _ := strings.Cut(entry, ":")
				all = append(all, Suppression{
					Rule: strings.TrimSpace(rule), Reason: strings.TrimSpace(reason),
					File: file, From: start + 1, To: end, Position: at,
				})
			}
		}
		head = head && silent(text)
	}
	return all
}

// silent reports whether a line holds no content: a comment, a separator, a
// control line of a template, nothing.
func silent(text string) bool {
	return text == "" || strings.HasPrefix(text, "#") || separates(text) || strings.HasPrefix(text, "{{")
}

// following is the index of the first line with content after i.
func following(lines []string, i, end int) int {
	for j := i + 1; j < end; j++ {
		if !silent(strings.TrimSpace(lines[j])) {
			return j
		}
	}
	return i
}

// comment reads "# ladder:ignore RULE reason", at the end of a line too, or the
// comment of a template.
func comment(text string) (rule, reason string, ok bool) {
	before, rest, found := strings.Cut(text, IgnoreComment)
	before = strings.TrimSpace(before)
	if !found || !strings.HasSuffix(before, "#") && !strings.HasSuffix(before, "/*") {
		return "", "", false
	}
	rest, _, _ = strings.Cut(rest, "*/")
	fields := strings.Fields(rest)
	if len(fields) == 0 || !strings.HasPrefix(rest, " ") {
		return "", "", strings.TrimSpace(rest) == ""
	}
	return strings.TrimSuffix(fields[0], ":"), strings.Join(fields[1:], " "), true
}

// annotation reads the entries of an annotation that begins in line i: in one
// line, plain or quoted, or as a block below it.
func annotation(lines []string, i, end int) []string {
	_, value, _ := strings.Cut(lines[i], IgnoreAnnotation)
	value = strings.TrimLeft(value, `"'`)
	value = strings.TrimSpace(strings.TrimPrefix(value, ":"))
	if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
		j := i + 1
		for j < end && (strings.TrimSpace(lines[j]) == "" || indent(lines[j]) > indent(lines[i])) {
			j++
		}
		value = strings.Join(lines[i+1:j], ";")
	}
	if quote := strings.TrimLeft(value, `"'`); quote != value {
		value, _, _ = strings.Cut(quote, value[:1])
	}
	var entries []string
	for entry := range strings.SplitSeq(value, ";") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
