// Command picture draws what a command prints on a terminal as an SVG, for the
// documents: go run ./test/picture -o docs/rehearse.svg -- ladder rehearse ...
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	charWidth  = 8.4 // of a 14 px monospaced font
	lineHeight = 19
	margin     = 16
)

// colours of the SGR parameters that Ladder prints, on a dark ground.
var colours = map[string]string{
	"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e",
}

func main() {
	output := flag.String("o", "", "file to write")
	flag.Parse()
	if err := run(*output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(output string, args []string) error {
	if output == "" || len(args) == 0 {
		return errors.New("usage: picture -o FILE -- COMMAND [ARGS...]")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "CLICOLOR_FORCE=1")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	shown := append([]string{"$ " + strings.Join(args, " ")}, strings.Split(strings.TrimRight(string(text), "\n"), "\n")...)
	return os.WriteFile(output, draw(shown), 0o644)
}

func draw(lines []string) []byte {
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(plain(l)))
	}
	w, h := float64(width)*charWidth+2*margin, len(lines)*lineHeight+2*margin
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="Terminal: %s">`+"\n", w, h, html.EscapeString(plain(lines[0])))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>`+"\n")
	b.WriteString(`<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="#e6edf3" xml:space="preserve">` + "\n")
	for i, l := range lines {
		fmt.Fprintf(&b, `<text y="%d">%s</text>`+"\n", margin+14+i*lineHeight, spans(l))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// gap is what separates columns: two blanks or more.
var gap = regexp.MustCompile(` {2,}`)

// spans writes each run of a line that has one colour and no wide gap where it stands, and as
// wide as it is: the columns hold in every font.
func spans(l string) string {
	var b strings.Builder
	column, colour := 0, ""
	for l != "" {
		text, rest, more := strings.Cut(l, "\x1b[")
		from := 0
		for _, at := range append(gap.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
			run := text[from:at[0]]
			if words := strings.TrimSpace(run); words != "" {
				b.WriteString(span(words, column+strings.Index(run, words), colour)) // at most one blank before it
			}
			column += utf8.RuneCountInString(text[from:at[1]])
			from = at[1]
		}
		if !more {
			break
		}
		code, after, _ := strings.Cut(rest, "m")
		colour, l = colours[code], after
	}
	return b.String()
}

func span(text string, column int, colour string) string {
	fill := ""
	if colour != "" {
		fill = fmt.Sprintf(` fill="%s"`, colour)
	}
	return fmt.Sprintf(`<tspan x="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</tspan>`,
		margin+float64(column)*charWidth, float64(utf8.RuneCountInString(text))*charWidth, fill, html.EscapeString(text))
}

// plain is a line without its colours.
func plain(l string) string {
	var b strings.Builder
	for l != "" {
		if l[0] == 0x1b {
			if end := strings.IndexByte(l, 'm'); end >= 0 {
				l = l[end+1:]
				continue
			}
		}
		b.WriteByte(l[0])
		l = l[1:]
	}
	return b.String()
}
