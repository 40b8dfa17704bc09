package stream

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// guard is the writer through which all output leaves the command. Names and
// messages come from repositories and clusters: whatever they hold, what is written
// neither steers a terminal nor is a command to a CI system.
//
//   - Characters that control terminals, break lines where "\n" does not, or turn the
//     direction of writing become \u and their number. In the strings of JSON that
//     is the same character.
//   - A line that begins with "::" is a command to GitHub Actions, and one with "##["
//     or "##name[" anywhere one to older runners of it, to Azure Pipelines and to
//     TeamCity: a character in the middle is written by its number.
//
// Ladder's own colours pass where output is coloured. Its own commands and what
// draws on a terminal go around the guard: Commands, Direct.
type guard struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	// width is that of the terminal that lines are folded for; nil where they are not.
	width func() int
	// rest is the beginning of a character or a sequence.
	rest []byte
	line line
}

// line is how far a line may be a command.
type line struct {
	begun  bool // there was something other than blanks
	colon  bool // which was one colon
	hashes int  // hash signs, with letters behind two of them
}

// Write implements io.Writer.
func (g *guard) Write(text []byte) (int, error) { return g.write(text, g.width) }

func (g *guard) write(text []byte, width func() int) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b bytes.Buffer
	left := text
	if len(g.rest) > 0 {
		left = slices.Concat(g.rest, text)
	}
	g.rest = g.pass(&b, left, false)
	passed := b.Bytes()
	if width != nil {
		passed = []byte(report.Fold(b.String(), width()))
	}
	if _, err := g.out.Write(passed); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes what waited for more.
func (g *guard) Flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b bytes.Buffer
	g.pass(&b, g.rest, true)
	g.rest = nil
	_, _ = g.out.Write(b.Bytes()) // nobody is left to be told
}

// pass writes a text and returns the end of it that needs more to be decided on.
func (g *guard) pass(b *bytes.Buffer, text []byte, all bool) (rest []byte) {
	for len(text) > 0 {
		if !all && !decided(text) {
			return bytes.Clone(text)
		}
		if n := g.own(text); n > 0 {
			b.Write(text[:n])
			text = text[n:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n':
			g.line = line{}
			b.WriteByte('\n')
		case r == '\r' && len(text) > 1 && text[1] == '\n':
			b.WriteByte('\r')
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
			g.line = line{begun: true}
		case steers(r), g.line.commands(r):
			fmt.Fprintf(b, "\\u%04x", r)
			g.line = line{begun: true}
		default:
			b.Write(text[:size])
			g.line.see(r)
		}
		text = text[size:]
	}
	return nil
}

// decided reports whether a text is long enough to tell what is at its beginning.
func decided(text []byte) bool {
	if text[0] == '\r' {
		return len(text) > 1
	}
	if text[0] == 0x1b {
		return len(text) > longest || bytes.IndexByte(text, 'm') > 0 || len(text) > 1 && text[1] != '['
	}
	return utf8.FullRune(text)
}

// longest is the length of the longest sequence for a colour.
const longest = len("\x1b[31m")

// own is the length of a sequence of Ladder's own at the beginning of a text.
func (g *guard) own(text []byte) int {
	if !g.colour || !bytes.HasPrefix(text, []byte("\x1b[")) {
		return 0
	}
	end := bytes.IndexByte(text[:min(len(text), longest)], 'm')
	if end < 0 || !report.IsColour(string(text[2:end])) {
		return 0
	}
	return end + 1
}

// steers reports whether a character does more than to be shown.
func steers(r rune) bool {
	return unicode.IsControl(r) && r != '\t' || report.Invisible(r)
}

// commands reports whether a character makes a command of a line.
func (l *line) commands(r rune) bool {
	return r == ':' && l.colon || r == '[' && l.hashes >= 2
}

func (l *line) see(r rune) {
	blank := !l.begun && unicode.IsSpace(r)
	l.colon = !l.begun && r == ':'
	l.begun = l.begun || !blank
	switch {
	case r == '#':
		l.hashes++
	case l.hashes < 2 || !unicode.IsLetter(r):
		l.hashes = 0
	}
}

// Guarded returns streams through which nothing steers a terminal or a CI system.
func (s *Streams) Guarded() *Streams {
	if _, ok := s.Err.(*guard); ok {
		return s
	}
	guarded := *s
	guarded.Out = &guard{out: s.Out, colour: s.Color(s.OutTerminal)}
	messages := &guard{out: s.Err, colour: s.Color(s.ErrTerminal)}
	if s.ErrTerminal {
		messages.width = s.Width
	}
	guarded.Err = messages
	return &guarded
}

// whole is a guard whose lines are not folded.
type whole struct{ *guard }

// Write implements io.Writer.
func (w whole) Write(text []byte) (int, error) { return w.write(text, nil) }

// Whole is stderr with lines as they are on a terminal as well: what machines read, and
// commands for people to copy.
func (s *Streams) Whole() io.Writer {
	if g, ok := s.Err.(*guard); ok {
		return whole{g}
	}
	return s.Err
}

// Flush writes what the streams hold back.
func (s *Streams) Flush() {
	for _, w := range []io.Writer{s.Out, s.Err} {
		if g, ok := w.(*guard); ok {
			g.Flush()
		}
	}
}

// Direct is stderr without the guard, for what moves the cursor of a terminal. Whoever
// writes to it answers for what names hold.
func (s *Streams) Direct() io.Writer { return unguarded(s.Err) }

func unguarded(w io.Writer) io.Writer {
	if g, ok := w.(*guard); ok {
		return g.out
	}
	return w
}

// Safe is a text as a guard lets it through.
func Safe(text []byte) []byte {
	var b bytes.Buffer
	(&guard{}).pass(&b, text, true)
	return b.Bytes()
}

// IsSafe reports whether a guard lets a text through as it is.
func IsSafe(text string) bool { return string(Safe([]byte(text))) == text }

// own are the commands of GitHub Actions that Ladder gives.
var own = []string{"::error ", "::warning ", "::notice ", "::group::", "::endgroup::"}

// Commands is a text in which the lines that begin with a command of Ladder's own are
// commands.
func Commands(text []byte) []byte {
	var b bytes.Buffer
	for _, l := range bytes.SplitAfter(text, []byte("\n")) {
		g := guard{}
		for _, command := range own {
			if rest, ok := bytes.CutPrefix(l, []byte(command)); ok {
				b.WriteString(command)
				g.line.begun, l = true, rest
				break
			}
		}
		g.pass(&b, l, true)
	}
	return b.Bytes()
}

// WriteCommands writes a result that holds commands of Ladder's own.
func (s *Streams) WriteCommands(file string, content []byte) error {
	direct := *s
	direct.Out = unguarded(s.Out)
	return direct.write(file, Commands(content))
}
