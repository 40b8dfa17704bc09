package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// writeUnrendered says at the top of a report what could not be rendered: what is not
// rendered is never called clean. Of those with one cause the first is written whole and
// the others are named, or all are with verbose. Of those that a finding tells whole, which
// is shown, the components are named.
func writeUnrendered(b *strings.Builder, all []Unrendered, shown []finding.Finding, verbose bool) {
	if len(all) == 0 {
		return
	}
	components := NotWhole(all)
	all, told := untold(all, shown)
	verb := "are"
	if components == 1 {
		verb = "is"
	}
	fmt.Fprintf(b, "! %s %s not rendered, whole or in part: what is in the rest is not known\n", finding.Count(components, "component"), verb)
	for _, line := range UnrenderedLines(all, verbose) {
		b.WriteString("    " + line + "\n")
	}
	if len(told) > 0 {
		names := strings.Join(told, ", ")
		if !verbose {
			names = few(told)
		}
		b.WriteString("    findings below say why: " + Plain(names) + "\n")
	}
	b.WriteByte('\n')
}

// untold leaves of what is not rendered what no finding says that is shown, each once, and names
// the components of the rest.
func untold(all []Unrendered, shown []finding.Finding) (left []Unrendered, told []string) {
	for _, u := range all {
		if !slices.ContainsFunc(shown, func(f finding.Finding) bool {
			return f.Environment == u.Environment && f.Component == u.Component && f.Position == (finding.Position{File: u.File, Line: u.Line}) &&
				strings.HasPrefix(f.Message, strings.TrimSpace(u.Reason))
		}) {
			left = append(left, u)
		} else if !slices.Contains(told, u.Component) {
			told = append(told, u.Component)
		}
	}
	return distinct(left), told
}

// UnrenderedLines says why components are not rendered, cause by cause: one of each cause
// whole and the others by name, or all with verbose.
func UnrenderedLines(all []Unrendered, verbose bool) []string {
	var order []string
	by := map[string][]Unrendered{}
	for _, u := range all {
		cause := causeOf(u)
		if by[cause] == nil {
			order = append(order, cause)
		}
		by[cause] = append(by[cause], u)
	}
	var lines []string
	for _, cause := range order {
		for i, u := range by[cause] {
			if i > 0 && !verbose {
				break
			}
			lines = append(lines, fmt.Sprintf("%s  %s: %s", Plain(position(u.File, u.Line).String()), Plain(u.Component), Plain(u.Reason)))
		}
		if more := others(by[cause]); len(more) > 0 && !verbose {
			lines = append(lines, fmt.Sprintf("  and %d more like this: %s", len(more), Plain(few(more))))
		}
	}
	return lines
}

// NotWhole counts the components of which something was not rendered. One of two
// environments counts twice, as in the verdict.
func NotWhole(all []Unrendered) int {
	components := map[[2]string]bool{}
	for _, u := range all {
		components[[2]string{u.Environment, u.Component}] = true
	}
	return len(components)
}

// causeOf is the same for what is not rendered for the same reason: the reason without
// its names, addresses, versions and numbers. A network that is missing is one cause,
// whatever is not had from it.
func causeOf(u Unrendered) string {
	if finding.LacksNetwork(u.Reason) {
		return "network"
	}
	words := slices.DeleteFunc(strings.Fields(u.Reason), func(word string) bool {
		return word == u.Component || strings.ContainsAny(word, "/*0123456789")
	})
	return strings.Join(words, " ")
}

// distinct leaves what is not rendered in several environments once.
func distinct(all []Unrendered) []Unrendered {
	seen := map[Unrendered]bool{}
	var out []Unrendered
	for _, u := range all {
		u.Environment = ""
		if !seen[u] {
			seen[u] = true
			out = append(out, u)
		}
	}
	return out
}

// others are the components behind the first entry, once.
func others(all []Unrendered) []string {
	var names []string
	for _, u := range all[1:] {
		if u.Component != all[0].Component && !slices.Contains(names, u.Component) {
			names = append(names, u.Component)
		}
	}
	return names
}

// few names the first of many.
func few(names []string) string {
	if len(names) <= alike+1 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:alike], ", ") + ", ... (ladder lint --verbose shows all)"
}
