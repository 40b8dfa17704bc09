package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// wayOutOfUntested says how a smoke passes that is right although nothing of it can fail.
const wayOutOfUntested = "A smoke that something else judges passes with a reason in its descriptor: # ladder:ignore smoke-tests-nothing REASON"

// writeUntested says at the top of which smokes nothing can fail.
func writeUntested(b *strings.Builder, all []finding.Finding) {
	for _, f := range all {
		fmt.Fprintf(b, "✕ %s\n    %s  [%s]\n", f.Message, f.Position, f.Rule)
		if fix := f.WayOut(); fix != "" {
			fmt.Fprintf(b, "    fix: %s\n", fix)
		}
	}
	if len(all) > 0 {
		b.WriteString("  " + wayOutOfUntested + "\n\n")
	}
}

// untested says in the verdict how many smokes test nothing. A smoke with several mistakes
// counts once.
func untested(all []finding.Finding) string {
	var names []string
	for _, f := range all {
		names = append(names, f.Component)
	}
	slices.Sort(names)
	switch n := len(slices.Compact(names)); n {
	case 0:
		return ""
	case 1:
		return "; 1 smoke tests nothing"
	default:
		return fmt.Sprintf("; %d smokes test nothing", n)
	}
}
