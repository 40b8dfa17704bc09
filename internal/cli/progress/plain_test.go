package progress

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// hostile clears the screen, rings, writes to the clipboard, starts a sequence
// with one byte of ISO 6429, turns the writing direction, and ends the line.
const hostile = "a\x1b[2J\a\x1b]52;c;eA==\x07\u009b31m\u202e\x7f\xff\r\n::error::b"

// hostileRun shows a run in which every text is hostile.
func hostileRun(display Display) {
	display.Stage(hostile)
	display.Counted(1, 2, hostile)
	display.Change(report.Change{Phase: hostile, Component: hostile, From: hostile, To: hostile, Reason: hostile})
	row := []report.BoardRow{{Component: hostile, Text: hostile}}
	display.Board(report.Board{
		Steps:   []report.BoardStep{{Label: hostile, Name: hostile, Started: true, Done: 1, Total: 1}, {Label: hostile + "2", Name: hostile, Started: true, Total: 1}},
		Running: row, Failed: row,
		Waiting:   []report.BoardWait{{Count: 1, On: hostile}},
		Why:       []report.BoardWhy{{On: hostile, State: hostile, Text: hostile, Components: []string{hostile}}},
		Approvals: []report.BoardApproval{{Label: hostile}},
		Note:      hostile,
	})
	if t, ok := display.(*terminal); ok {
		for _, key := range []byte("ef?a\x03cp") {
			t.change(func(s *screen) {
				lines, _ := s.press(key)
				t.above = append(t.above, lines...)
			})
		}
	}
	display.Close()
}

// drawing is what a display writes on purpose: colours, and the codes of block.
var drawing = regexp.MustCompile(`\x1b\[(0|2|31|32|33|36)m|\x1b\[[0-9]+A\r\x1b\[J`)

func TestNothingHostileIsWritten(t *testing.T) {
	cases := map[string]struct {
		mode   string
		env    map[string]string
		colour bool
	}{
		"terminal":          {mode: "tty", colour: true},
		"without colours":   {mode: "tty", env: map[string]string{"NO_COLOR": "1"}},
		"plain":             {mode: "plain", env: map[string]string{"GITHUB_ACTIONS": "true"}},
		"JSON on a console": {mode: "json"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, b := streams(tc.env, true)
			now := noon
			display := New(s, &flags.Global{Progress: tc.mode}, func() time.Time { now = now.Add(2 * heartbeat); return now })
			hostileRun(display)
			written := b.String()
			if coloured := regexp.MustCompile(`\x1b\[[0-9]+m`).MatchString(written); coloured != tc.colour {
				t.Errorf("coloured: %v", coloured)
			}
			for _, r := range drawing.ReplaceAllString(written, "") {
				if r != '\n' && !unicode.IsPrint(r) && tc.mode != "json" || unicode.IsControl(r) && r != '\n' {
					t.Fatalf("%U is written: %q", r, written)
				}
			}
			if strings.Contains(written, "\n::error") {
				t.Errorf("a command for the job: %q", written)
			}
		})
	}
}

func TestEscapedJSONSaysTheSame(t *testing.T) {
	s, b := streams(nil, false)
	New(s, &flags.Global{Progress: "json"}, func() time.Time { return noon }).Stage("a\u009b\x7f\x1bé")
	var r record
	if err := json.Unmarshal(b.Bytes(), &r); err != nil || r.Text != "a\u009b\x7f\x1bé" {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestClip(t *testing.T) {
	cases := map[string]struct {
		row   string
		limit int
		want  string
	}{
		"fits":                  {"abc", 3, "abc"},
		"cut":                   {"abcd", 3, "ab…"},
		"wide fits":             {"日本", 4, "日本"},
		"wide is cut":           {"日本語", 5, "日本…"},
		"wide leaves a gap":     {"日本語", 4, "日…"},
		"colours take no room":  {"\x1b[32mabc\x1b[0m", 3, "\x1b[32mabc\x1b[0m"},
		"colours are closed":    {"\x1b[32mabcd\x1b[0m", 3, "\x1b[32mab…\x1b[0m"},
		"closed colours stay":   {"\x1b[32ma\x1b[0mbcd", 3, "\x1b[32ma\x1b[0mb…"},
		"an unfinished code":    {"\x1b[32", 2, "\x1b…"},
		"one column":            {"abc", 1, "…"},
		"emoji are wide":        {"🚀🚀", 3, "🚀…"},
		"signs of Ladder's own": {"✓▶✕…█░·", 7, "✓▶✕…█░·"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := clip(tc.row, tc.limit)
			if got != tc.want || columns(got) > tc.limit && tc.limit > 0 {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A block of wide characters is taken away whole, whatever the width is.
func TestWideRowsStayOneRow(t *testing.T) {
	board := running()
	board.Running[0].Component, board.Running[0].Text = strings.Repeat("部品", 40), strings.Repeat("🚀", 90)
	for width := 1; width < 120; width++ {
		s := &screen{keys: true, board: board}
		for _, row := range fit(s.rows(width, 0), width, 0) {
			if n := columns(row); n > width {
				t.Fatalf("width %d: a row of %d: %s", width, n, row)
			}
		}
	}
}

func TestFitKeepsTheLastRows(t *testing.T) {
	rows := []string{"one", "two", "three"}
	for height, want := range map[int][]string{0: rows, 1: {"three"}, 2: {"three"}, 3: {"two", "three"}, 4: rows, 40: rows} {
		if diff := cmp.Diff(want, fit(rows, 10, height)); diff != "" {
			t.Errorf("height %d (-want +got):\n%s", height, diff)
		}
	}
}

// The original of what is shown belongs to the run.
func TestShowingChangesNothing(t *testing.T) {
	board := report.Board{Running: []report.BoardRow{{Component: hostile}}, Why: []report.BoardWhy{{Components: []string{hostile}}}}
	shown := plainBoard(board)
	if board.Running[0].Component != hostile || board.Why[0].Components[0] != hostile || shown.Running[0].Component == hostile {
		t.Errorf("shown %+v of %+v", shown, board)
	}
}

// A display that is closed, or is closed twice, leaves no goroutine behind.
func TestNoGoroutineIsLeft(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = tty.Close(), master.Close() })
	before := runtime.NumGoroutine()
	for range 20 {
		s := &stream.Streams{In: tty, Err: &bytes.Buffer{}, ErrTerminal: true, Getenv: os.Getenv}
		display := newTerminal(s)
		Steer(display, s, Steering{})
		display.Stage("x")
		display.Close()
		display.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if left := runtime.NumGoroutine(); left > before {
		t.Errorf("%d goroutines, %d before", left, before)
	}
}
