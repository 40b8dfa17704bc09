package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// block is drawn again and again at the bottom of a terminal; what is printed
// goes above it and stays. Its rows are no longer than the terminal is wide.
type block struct {
	out   io.Writer
	width func() int
	// rows stand on the terminal, the cursor below them.
	rows []string
}

// draw prints lines above the block and replaces its rows, in one write.
func (b *block) draw(above, rows []string) {
	if len(above) == 0 && slices.Equal(rows, b.rows) {
		return
	}
	var s strings.Builder
	s.WriteString(b.erase())
	for _, line := range slices.Concat(above, rows) {
		s.WriteString(line + "\n")
	}
	b.rows = slices.Clone(rows)
	// A terminal that cannot be written to must not stop the run.
	_, _ = io.WriteString(b.out, s.String())
}

// erase moves the cursor to the first row and clears from there. A terminal
// that has become narrower has broken the rows.
func (b *block) erase() string {
	width, height := max(b.width(), 1), 0
	for _, row := range b.rows {
		height += max((columns(row)+width-1)/width, 1)
	}
	if height == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", height)
}

// forget leaves the rows where they are: something else was printed below.
func (b *block) forget() { b.rows = nil }

// columns counts what a row shows, colours aside.
func columns(row string) int {
	n := 0
	for row != "" {
		if code := colour(row); code != "" {
			row = row[len(code):]
			continue
		}
		r, size := utf8.DecodeRuneInString(row)
		row = row[size:]
		n += columnsOf(r)
	}
	return n
}
