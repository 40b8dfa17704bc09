package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Board is a running rollout as a terminal shows it: finished steps, what runs
// and why the rest waits.
type Board struct {
	Steps   []BoardStep
	Running []BoardRow // oldest first
	Waiting []BoardWait
	Failed  []BoardRow
	// Elapsed is the time since the rollout started; Expected the planned
	// makespan, 0 where there is no estimate.
	Elapsed, Expected time.Duration
	Note              string // paused, stopping, ...
	// Why are the root causes of all waiting, those that hold up most first;
	// Waiting names what comes next instead.
	Why []BoardWhy
	// Approvals are the steps that wait for an approval now.
	Approvals []BoardApproval
}

// BoardStep is one step of the board.
type BoardStep struct {
	Label  string // "150"
	Name   string // "runtimes"
	Done   int
	Total  int
	Failed int
	// Unrendered stood in as empty components.
	Unrendered int
	Started    bool
	Elapsed    time.Duration // since the first start, until the last end
}

// Finished reports whether nothing of the step is left to do.
func (s BoardStep) Finished() bool { return s.Started && s.Done+s.Unrendered == s.Total }

// ended reports whether no component of the step is left, well or not.
func (s BoardStep) ended() bool { return s.Started && s.Done+s.Unrendered+s.Failed == s.Total }

// Tick lets the clock of a step go on that has not ended.
func (s *BoardStep) Tick(passed time.Duration) {
	if s.Started && !s.ended() {
		s.Elapsed += passed
	}
}

// BoardRow is one component of the board.
type BoardRow struct {
	Component string
	Elapsed   time.Duration
	// Left is the time until it times out, or the whole before it; 0 for neither.
	Left time.Duration
	Text string
	// Blocks is the number of components that wait for this one.
	Blocks int
}

// clocks are how long it has run, and how long it may.
func (r BoardRow) clocks() string {
	if r.Left <= 0 {
		return Clock(r.Elapsed)
	}
	return Clock(r.Elapsed) + ", " + Clock(r.Left) + " left"
}

// Tick lets the clocks of a row go on.
func (r *BoardRow) Tick(passed time.Duration) {
	r.Elapsed += passed
	if r.Left > 0 {
		r.Left = max(r.Left-passed, 1)
	}
}

// BoardWait is one thing that components wait for.
type BoardWait struct {
	Count int
	On    string
}

// Style says how people get a text; the zero value prints it plain.
type Style struct {
	Color bool
	// Width is how many columns there are; 0 for any number.
	Width int
}

// fold breaks a text between words, below an indentation.
func (s Style) fold(indent, text string) string {
	if s.Width == 0 {
		return indent + text
	}
	return indent + strings.Join(wrap(text, max(s.Width-len(indent), 20)), "\n"+strings.Repeat(" ", len(indent)))
}

func (s Style) paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The colours of the terminal, as SGR parameters. A state is always a glyph and
// a word as well: colour is never the only sign.
const (
	green  = "32"
	red    = "31"
	yellow = "33"
	cyan   = "36"
	faint  = "2"
)

// IsColour reports whether Ladder itself writes an SGR parameter.
func IsColour(code string) bool {
	return slices.Contains([]string{green, red, yellow, cyan, faint, bold, "0"}, code)
}

// labels is how wide the labels of the steps are.
func (b Board) labels() int {
	width := 5
	for _, step := range b.Steps {
		width = max(width, utf8.RuneCountInString(step.Label))
	}
	return width
}

// StepLine prints a step of a board on one line.
func (s Style) StepLine(b Board, step BoardStep) string {
	glyph, code := "·", faint
	switch {
	case step.Failed > 0:
		glyph, code = "✕", red
	case step.Finished() && step.Unrendered > 0:
		glyph, code = "!", yellow
	case step.Finished():
		glyph, code = "✓", green
	case step.Started:
		glyph, code = "▶", cyan
	}
	elapsed := ""
	if step.Started {
		elapsed = "  " + Clock(step.Elapsed)
	}
	if step.Unrendered > 0 {
		elapsed += fmt.Sprintf("  %d not rendered", step.Unrendered)
	}
	return s.paint(code, fmt.Sprintf("%s %-*s %-13s %3d/%d", glyph, b.labels(), step.Label, step.Name, step.Done, step.Total)) + s.paint(faint, elapsed)
}

// maxLive is the greatest height of the live block, in rows.
const maxLive = 12

// Live prints the block that is drawn again and again below the finished steps:
// at most 12 rows of at most width columns.
func (s Style) Live(b Board, width int) []string {
	var lines []string
	add := func(line string) { lines = append(lines, Clip(line, width)) }
	for _, step := range b.Steps {
		if step.Started && !step.Finished() && len(lines) < 4 {
			add(s.StepLine(b, step))
		}
	}
	for i, r := range b.Running {
		if len(lines) >= maxLive-3 {
			add(s.paint(faint, fmt.Sprintf("  … %d more running", len(b.Running)-i)))
			break
		}
		add(s.paint(cyan, "  ▶ "+r.Component) + s.paint(faint, "  "+r.clocks()) + "  " + Plain(r.Text))
	}
	if len(b.Waiting) > 0 {
		total, parts := 0, []string{}
		for i, w := range b.Waiting {
			total += w.Count
			if i < 3 {
				parts = append(parts, fmt.Sprintf("%d on %s", w.Count, w.On))
			}
		}
		add(s.paint(yellow, fmt.Sprintf("  … %d wait: %s", total, strings.Join(parts, ", "))))
	}
	for i, f := range b.Failed {
		if i == 2 && len(b.Failed) > 3 {
			add(s.paint(red, fmt.Sprintf("✕ %d more failed", len(b.Failed)-i)))
			break
		}
		add(s.paint(red, fmt.Sprintf("✕ %s failed (blocks %d)", f.Component, f.Blocks)) + "  " + Plain(f.Text))
	}
	lines = lines[:min(len(lines), maxLive-1)]
	add(s.paint(faint, b.Foot()))
	return lines
}

// Foot is the last row of the live block.
func (b Board) Foot() string {
	done, total := 0, 0
	for _, step := range b.Steps {
		done, total = done+step.Done, total+step.Total
	}
	foot := fmt.Sprintf("%d/%d Healthy  elapsed %s", done, total, Clock(b.Elapsed))
	if b.Expected > 0 {
		foot += " of about " + Clock(b.Expected)
	}
	if b.Note != "" {
		foot += "   " + b.Note
	}
	return foot
}

// Clock prints a duration as people read it: "2.1s", "1m02s", "1h05m".
func Clock(d time.Duration) string { return finding.Clock(d) }

// Plain makes a text one line that does not steer the terminal, whatever a cluster
// or a chart says.
func Plain(text string) string { return finding.Plain(text) }

// Invisible reports whether a character breaks a line or turns the direction of
// writing.
func Invisible(r rune) bool { return finding.Invisible(r) }

// Clip cuts a line to width columns; escape sequences take no room and stay
// closed.
func Clip(line string, width int) string {
	if width <= 0 {
		return line
	}
	var b strings.Builder
	columns, escaped := 0, false
	for i := 0; i < len(line); {
		if line[i] == 0x1b {
			end := strings.IndexByte(line[i:], 'm')
			if end < 0 {
				break
			}
			b.WriteString(line[i : i+end+1])
			escaped = line[i:i+end+1] != "\x1b[0m"
			i += end + 1
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		if columns == width-1 && i+size < len(line) && visible(line[i+size:]) {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
		columns++
		i += size
	}
	if escaped {
		b.WriteString("\x1b[0m")
	}
	return b.String()
}

// visible reports whether anything but escape sequences is left.
func visible(s string) bool {
	for s != "" {
		if s[0] != 0x1b {
			return true
		}
		end := strings.IndexByte(s, 'm')
		if end < 0 {
			return false
		}
		s = s[end+1:]
	}
	return false
}
