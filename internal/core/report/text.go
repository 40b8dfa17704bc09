package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// table writes rows with aligned columns, two blanks apart; the last column is
// not padded.
func table(b *strings.Builder, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i == len(row)-1 {
				line.WriteString(cell)
				continue
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// writeUnrendered says at the top of a report what could not be rendered: what
// is not rendered is never called clean.
func writeUnrendered(b *strings.Builder, unrendered []Unrendered) {
	if len(unrendered) == 0 {
		return
	}
	fmt.Fprintf(b, "! %s not rendered; nothing is known of what they hold:\n", finding.Count(len(unrendered), "component"))
	for _, u := range unrendered {
		fmt.Fprintf(b, "    %s:%d  %s: %s\n", u.File, u.Line, u.Component, u.Reason)
	}
	b.WriteByte('\n')
}
