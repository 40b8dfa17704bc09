package progress

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// emulated is a terminal that knows what block writes.
type emulated struct {
	width  int
	lines  []string
	cursor int
}

func (e *emulated) Write(p []byte) (int, error) {
	text := string(p)
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			end := strings.IndexAny(rest, "AJ")
			switch n, _ := strconv.Atoi(rest[:end]); rest[end] {
			case 'A':
				e.cursor = max(e.cursor-n, 0)
			case 'J':
				e.lines = e.lines[:min(e.cursor, len(e.lines))]
			}
			text = rest[end+1:]
			continue
		}
		if text[0] == '\r' {
			text = text[1:]
			continue
		}
		line, rest, _ := strings.Cut(text, "\n")
		for len(e.lines) <= e.cursor {
			e.lines = append(e.lines, "")
		}
		e.lines[e.cursor] = line
		e.cursor++
		text = rest
	}
	return len(p), nil
}

func TestBlockReplacesItself(t *testing.T) {
	e := &emulated{width: 40}
	b := block{out: e, width: func() int { return e.width }}
	steps := []struct {
		above, rows, want []string
	}{
		{nil, []string{"one", "two", "three"}, []string{"one", "two", "three"}},
		{[]string{"printed"}, []string{"four"}, []string{"printed", "four"}},
		{nil, []string{"four"}, []string{"printed", "four"}},
		{[]string{"more"}, []string{"five", "six"}, []string{"printed", "more", "five", "six"}},
		{nil, nil, []string{"printed", "more"}},
	}
	for i, step := range steps {
		b.draw(step.above, step.rows)
		if diff := cmp.Diff(step.want, e.lines); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

// A terminal that has become narrower has broken the rows: all of them go.
func TestBlockOnANarrowerTerminal(t *testing.T) {
	var out bytes.Buffer
	width := 40
	b := block{out: &out, width: func() int { return width }}
	b.draw(nil, []string{strings.Repeat("x", 40), "short", "\x1b[32m" + strings.Repeat("y", 11) + "\x1b[0m"})
	out.Reset()
	width = 10
	b.draw(nil, nil)
	if got, want := out.String(), "\x1b[7A\r\x1b[J"; got != want { // 4 + 1 + 2 rows
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnchangedBlockIsNotDrawn(t *testing.T) {
	var out bytes.Buffer
	b := block{out: &out, width: func() int { return 40 }}
	b.draw(nil, []string{"row"})
	out.Reset()
	b.draw(nil, []string{"row"})
	if out.Len() > 0 {
		t.Errorf("drawn again: %q", out.String())
	}
}

// A display that is closed leaves nothing of the block, also when the run that
// it showed panics, and whatever happens afterwards.
func TestCloseAfterAPanic(t *testing.T) {
	e := &emulated{width: 80}
	display := newTerminal(&stream.Streams{Err: e, ErrTerminal: true, Getenv: func(string) string { return "" }})
	func() {
		defer func() { _ = recover() }()
		defer display.Close()
		display.Stage("starting")
		display.Counted(1, 2, "rendering")
		panic("in the run")
	}()
	display.Close()
	display.Stage("too late")
	if len(e.lines) != 0 {
		t.Errorf("left on the terminal: %q", e.lines)
	}
}

// A terminal that nobody reads from must not hold up the run.
func TestHangingTerminal(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	display := newTerminal(&stream.Streams{Err: write, ErrTerminal: true, Getenv: func(string) string { return "" }})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20000 { // more than the pipe holds
			display.Stage(fmt.Sprintf("stage %d %s", i, strings.Repeat("x", 70)))
		}
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("the run waits for the terminal")
	}
	_ = read.Close()
	display.Close()
	_ = write.Close()
}

// Keys are read on the terminal of the process only: another one, and a pipe,
// stay what they are.
func TestForeignTerminalIsLeftAlone(t *testing.T) {
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = tty.Close(), master.Close() })
	before, err := unix.IoctlGetTermios(int(tty.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	for name, in := range map[string]*os.File{"a terminal of another process": tty, "a pipe": read} {
		s := &stream.Streams{In: in, Err: &bytes.Buffer{}, ErrTerminal: true, Getenv: func(string) string { return "" }}
		display := newTerminal(s)
		if Steer(display, s, Steering{}) {
			t.Errorf("%s steers", name)
		}
		display.Close()
	}
	after, err := unix.IoctlGetTermios(int(tty.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Errorf("the terminal was %+v and is %+v", *before, *after)
	}
	if Steer(silent{}, &stream.Streams{In: tty, ErrTerminal: true}, Steering{}) {
		t.Error("a display that shows nothing steers")
	}
}
