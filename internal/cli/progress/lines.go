package progress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// heartbeat is how long plain output may stay silent about a count.
const heartbeat = time.Minute

// lines appends one line per change.
type lines struct {
	mu    sync.Mutex
	out   io.Writer
	now   func() time.Time
	last  time.Time
	print func(io.Writer, record)
	// starts shows that a count begins: machines measure how long it takes.
	starts bool
	// groups folds stages in the log of a GitHub Actions job.
	groups, open bool
	// commands is where a job of GitHub Actions takes commands from.
	commands io.Writer
}

// record is one line of JSON progress.
type record struct {
	At     report.Time    `json:"at"`
	Event  string         `json:"event"` // stage, count, change or alive
	Text   string         `json:"text,omitempty"`
	*Count                // of a count
	Change *report.Change `json:"change,omitempty"`
}

// Count says how far a count is.
type Count struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

func (l *lines) Stage(text string) {
	l.group("::group::" + plain(text))
	l.write(record{Event: "stage", Text: text})
}

// group folds what follows in the log of a GitHub Actions job. Source: GitHub
// Actions, "Workflow commands", Grouping log lines.
func (l *lines) group(start string) {
	if !l.groups {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		l.command("::endgroup::")
	}
	if l.open = start != ""; l.open {
		l.command(start)
	}
}

func (l *lines) command(text string) {
	_, _ = l.commands.Write(stream.Commands([]byte(text + "\n"))) // like all progress, it is nobody's failure
}

func (l *lines) Counted(done, total int, what string) {
	l.mu.Lock()
	quiet := done != total && l.now().Sub(l.last) < heartbeat
	l.mu.Unlock()
	if !quiet || l.starts && done == 0 {
		l.write(record{Event: "count", Text: what, Count: &Count{done, total}})
	}
}

func (l *lines) Change(change report.Change) {
	l.write(record{Event: "change", Change: &change})
}

// Board is a sign of life where nothing has changed for a while: what runs and
// what the rest waits for.
func (l *lines) Board(board report.Board) {
	l.mu.Lock()
	quiet := l.now().Sub(l.last) < heartbeat
	l.mu.Unlock()
	if quiet {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "still at it after %s:", report.Clock(board.Elapsed))
	for i, r := range board.Running {
		if i == 3 {
			fmt.Fprintf(&text, " and %d more;", len(board.Running)-i)
			break
		}
		fmt.Fprintf(&text, " %s %s", r.Component, r.Text)
		if r.Left > 0 {
			fmt.Fprintf(&text, ", times out in %s", report.Clock(r.Left))
		}
		text.WriteByte(';')
	}
	for i, w := range board.Waiting {
		if i == 2 {
			break
		}
		fmt.Fprintf(&text, " %d wait on %s;", w.Count, w.On)
	}
	l.write(record{Event: "alive", Text: strings.TrimSuffix(text.String(), ";")})
}

func (l *lines) Redraw() time.Duration { return heartbeat }

func (l *lines) Close() { l.group("") }

func (l *lines) write(r record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = l.now()
	r.At = report.Time(l.last)
	if r.Change != nil && !r.Change.At.IsZero() {
		r.At = report.Time(r.Change.At)
	}
	l.print(l.out, r)
}

func printPlain(w io.Writer, r record) {
	at := time.Time(r.At).Local().Format("15:04:05")
	text := plain(r.Text)
	switch r.Event {
	case "count":
		fmt.Fprintf(w, "%s %s %d/%d\n", at, text, r.Done, r.Total)
	case "change":
		c := plainChange(*r.Change)
		fmt.Fprintf(w, "%s %-4s %-11s %s", at, c.Phase, c.To, c.Component)
		if c.Reason != "" {
			fmt.Fprintf(w, "  %s", c.Reason)
		}
		fmt.Fprintln(w)
	default:
		fmt.Fprintf(w, "%s %s\n", at, text)
	}
}

func printJSON(w io.Writer, r record) {
	b, err := json.Marshal(r)
	if err != nil {
		return // records hold strings and numbers only
	}
	fmt.Fprintf(w, "%s\n", escaped(b))
}

// escaped is JSON in which the control characters that encoding/json lets through
// are escaped as well: DEL and those of ISO 6429 above it, of which one starts a
// sequence on terminals.
func escaped(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}
