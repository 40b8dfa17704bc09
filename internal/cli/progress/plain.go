package progress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// plain is text that cannot steer a terminal: names and messages come from
// repositories and clusters. Control characters, those that turn the direction
// of what follows, and bytes that are no text become blanks or signs.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

func plainAll(texts []string) []string {
	return each(texts, func(s *string) { *s = plain(*s) })
}

// each returns a changed copy: the original is somebody else's.
func each[T any](items []T, change func(*T)) []T {
	if items == nil {
		return nil
	}
	out := make([]T, len(items))
	copy(out, items)
	for i := range out {
		change(&out[i])
	}
	return out
}

func plainChange(c report.Change) report.Change {
	c.Phase, c.Component, c.From, c.To, c.Reason = plain(c.Phase), plain(c.Component), plain(c.From), plain(c.To), plain(c.Reason)
	return c
}

func plainBoard(b report.Board) report.Board {
	rows := func(r *report.BoardRow) { r.Component, r.Text = plain(r.Component), plain(r.Text) }
	b.Steps = each(b.Steps, func(s *report.BoardStep) { s.Label, s.Name = plain(s.Label), plain(s.Name) })
	b.Running, b.Failed = each(b.Running, rows), each(b.Failed, rows)
	b.Waiting = each(b.Waiting, func(w *report.BoardWait) { w.On = plain(w.On) })
	b.Why = each(b.Why, func(w *report.BoardWhy) {
		w.On, w.State, w.Text, w.Components = plain(w.On), plain(w.State), plain(w.Text), plainAll(w.Components)
	})
	b.Approvals = each(b.Approvals, func(a *report.BoardApproval) { a.Label = plain(a.Label) })
	b.Note = plain(b.Note)
	return b
}

// columnsOf is how many columns a character takes; 2 for wide ones. Source:
// Unicode Standard Annex 11, "East Asian Width".
func columnsOf(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// clip cuts a row to a number of columns; colours take none and end with the
// row.
func clip(row string, limit int) string {
	if columns(row) <= limit {
		return row
	}
	var b strings.Builder
	taken, coloured := 0, false
	for row != "" {
		if code := colour(row); code != "" {
			coloured = code != "\x1b[0m"
			b.WriteString(code)
			row = row[len(code):]
			continue
		}
		r, size := utf8.DecodeRuneInString(row)
		if taken += columnsOf(r); taken >= limit { // one is for the sign
			break
		}
		b.WriteRune(r)
		row = row[size:]
	}
	b.WriteString("…")
	if coloured {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// colour is the colour code at the start of a row, empty for none.
func colour(row string) string {
	if !strings.HasPrefix(row, "\x1b[") {
		return ""
	}
	return row[:strings.IndexByte(row, 'm')+1]
}

// wrapAll breaks lines between words, so that none is longer than a number of columns.
func wrapAll(lines []string, limit int) []string {
	var out []string
	for _, line := range lines {
		out = append(out, wrapped(line, limit)...)
	}
	return out
}

// entry is the start of a line with a word of its own in front of what it says of it.
var entry = lazyregexp.New(`^ *\S+ {2,}`)

// wrapped breaks a line between words. What follows stands below the text of the first row,
// or a little to the right of its beginning where that text begins far to the right.
func wrapped(line string, limit int) []string {
	if limit <= 0 || strings.Contains(line, "\x1b") {
		return []string{line} // a coloured one is short
	}
	hang := len(line) - len(strings.TrimLeft(line, " ")) + 2
	if start := columns(entry.FindString(line)); start > hang && start <= limit/2 {
		hang = start
	}
	if hang > limit/2 {
		hang = 0
	}
	var rows []string
	for columns(line) > limit {
		cut, taken, space := 0, 0, 0
		for i, r := range line {
			if taken += columnsOf(r); taken > limit {
				cut = i
				break
			}
			// A blank right after the row breaks it as well.
			if next := i + utf8.RuneLen(r); taken > hang && next < len(line) && line[next] == ' ' {
				space = next
			}
		}
		if space > 0 {
			cut = space
		}
		if cut == 0 {
			break // one character is wider than the terminal
		}
		rows = append(rows, strings.TrimRight(line[:cut], " "))
		line = strings.Repeat(" ", hang) + strings.TrimLeft(line[cut:], " ")
	}
	return append(rows, line)
}
