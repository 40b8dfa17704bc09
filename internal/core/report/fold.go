package report

import (
	"strings"
	"unicode/utf8"
)

// Fold breaks the lines of a text that are wider than a terminal between words, and
// indents what follows: below the last column of a line of columns, else below its
// beginning. A last column that begins far to the right gets lines of its own. Words stay
// whole, so that paths can be copied.
func Fold(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		ended := strings.HasSuffix(line, "\n")
		foldLine(&b, strings.TrimSuffix(line, "\n"), width)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Reflow folds a text whose paragraphs are broken into lines already: those too wide for a
// terminal are broken anew as a whole.
func Reflow(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if folded := Fold(p, width); folded == p || strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			paragraphs[i] = folded
			continue
		}
		paragraphs[i] = strings.Join(wrap(p, width), "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

func foldLine(b *strings.Builder, line string, width int) {
	column, indent := 0, min(columns(line[:len(line)-len(strings.TrimLeft(line, " "))])+2, width/2)
	if at := lastColumn(line); at > 0 && breakAt(line, width) >= 0 {
		if start := columns(line[:at]); start <= width*3/5 {
			indent = start
		} else {
			b.WriteString(foldWords(strings.TrimRight(line[:at], " "), width, 0, indent) + "\n" + strings.Repeat(" ", indent))
			line, column = line[at:], indent
		}
	}
	b.WriteString(foldWords(line, width, column, indent))
}

// foldWords breaks a line that begins in a column.
func foldWords(line string, width, column, indent int) string {
	var b strings.Builder
	for ; ; column = indent {
		at := breakAt(line, width-column)
		if at < 0 {
			return b.String() + line
		}
		b.WriteString(strings.TrimRight(line[:at], " ") + "\n" + strings.Repeat(" ", indent))
		line = strings.TrimLeft(line[at:], " ")
	}
}

// lastColumn is where the last column of a line of columns begins; 0 where it has one.
func lastColumn(line string) int {
	line = strings.TrimRight(line, " ")
	begin := len(line) - len(strings.TrimLeft(line, " "))
	if at := strings.LastIndex(line[begin:], "  "); at >= 0 {
		return begin + at + 2
	}
	return 0
}

// breakAt is where a line is broken, at a space; -1 where it fits, or is one word.
func breakAt(line string, width int) int {
	at, inWord, begun := -1, false, false
	for i, column := 0, 0; i < len(line); {
		if n := colour(line[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if r == ' ' {
			if inWord {
				at, begun = i, true // a space that ends a word
			}
			inWord = false
		} else {
			inWord = true
		}
		if column++; column > width && r != ' ' && begun {
			return at
		}
		i += size
	}
	return -1
}

// columns is how many columns a text takes.
func columns(text string) int {
	n := 0
	for i := 0; i < len(text); {
		if skipped := colour(text[i:]); skipped > 0 {
			i += skipped
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i, n = i+size, n+1
	}
	return n
}

// colour is the length of a sequence for a colour at the beginning of a text.
func colour(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	return strings.IndexByte(text, 'm') + 1
}
