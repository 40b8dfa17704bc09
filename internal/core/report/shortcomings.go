package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// wayOutOfUntested says how a smoke passes that is right although nothing of it can fail.
const wayOutOfUntested = "A smoke that something else judges passes with a reason in its descriptor: # ladder:ignore smoke-tests-nothing REASON"

// writeErrors says at the top what is wrong in the repository.
func writeErrors(b *strings.Builder, all []finding.Finding) {
	for _, f := range all {
		writeFinding(b, "!", f)
	}
	if len(all) > 0 {
		b.WriteByte('\n')
	}
}

// writeUntested says at the top of which smokes nothing can fail.
func writeUntested(b *strings.Builder, all []finding.Finding) {
	for _, f := range all {
		writeFinding(b, "✕", f)
	}
	if len(all) > 0 {
		b.WriteString("  " + wayOutOfUntested + "\n\n")
	}
}

func writeFinding(b *strings.Builder, glyph string, f finding.Finding) {
	fmt.Fprintf(b, "%s %s\n    %s  [%s]\n", glyph, f.Message, f.Position, f.Rule)
	if fix := f.WayOut(); fix != "" {
		fmt.Fprintf(b, "    fix: %s\n", fix)
	}
}

// shortcomings are the Shortcomings as the end of the verdict.
func shortcomings(r Rollout) string {
	return strings.Join(append([]string{""}, r.Shortcomings()...), "; ")
}

// Shortcomings say what a rollout does not show although it may have succeeded: the
// requirements that its order did not keep, errors of the repository, and smokes that test
// nothing.
func (r Rollout) Shortcomings() []string {
	var out []string
	broken := 0
	for _, e := range r.Against {
		if e.hard() {
			broken++
		}
	}
	if broken > 0 {
		out = append(out, finding.Count(broken, "requirement")+" not kept by the order")
	}
	if n := len(r.Errors); n > 0 {
		out = append(out, finding.Count(n, "error")+" in the repository")
	}
	var smokes []string // one with several mistakes counts once
	for _, f := range r.Untested {
		smokes = append(smokes, f.Component)
	}
	slices.Sort(smokes)
	switch n := len(slices.Compact(smokes)); n {
	case 0:
	case 1:
		out = append(out, "1 smoke tests nothing")
	default:
		out = append(out, fmt.Sprintf("%d smokes test nothing", n))
	}
	return out
}
