package report

import (
	"strings"
	"unicode/utf8"
)

// Fold breaks the lines of a text that are wider than a terminal between words, and
// indents what follows: below the last column of a line of columns, else below its
// beginning. Words stay whole, so that paths can be copied.
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

func foldLine(b *strings.Builder, line string, width int) {
	indent := hanging(line, width)
	for column := 0; ; column = indent {
		at := breakAt(line, width-column)
		if at < 0 {
			b.WriteString(line)
			return
		}
		b.WriteString(strings.TrimRight(line[:at], " "))
		b.WriteString("\n" + strings.Repeat(" ", indent))
		line = strings.TrimLeft(line[at:], " ")
	}
}

// hanging is the indentation of what follows a line.
func hanging(line string, width int) int {
	rest := strings.TrimLeft(line, " ")
	begin := len(line) - len(rest)
	last := 0
	if at := strings.LastIndex(rest, "  "); at >= 0 {
		last = begin + columns(rest[:at+2])
	}
	if last > 0 && last <= width/2 {
		return last
	}
	return min(begin+2, width/2)
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
