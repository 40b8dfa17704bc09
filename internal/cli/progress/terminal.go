package progress

import (
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// terminal draws an inline block: finished steps go to the scrollback, the
// block below shows what runs and why the rest waits.
type terminal struct {
	block  block
	height func() int

	mu       sync.Mutex
	screen   screen
	above    []string // not yet printed
	moved    bool     // something else was printed below the block
	closed   bool
	steering *Steering
	keyboard *keyboard

	dirty chan struct{} // holds a token while something is to be drawn
	drawn chan struct{} // closed when nothing is drawn any more
}

func newTerminal(streams *stream.Streams) *terminal {
	t := &terminal{
		block:  block{out: streams.Direct(), width: streams.Width},
		height: func() int { return heightOf(streams.Direct()) },
		screen: screen{style: report.Style{Color: streams.Color(true)}},
		dirty:  make(chan struct{}, 1), drawn: make(chan struct{}),
	}
	go t.paint()
	return t
}

// Steering is what the keys of a terminal may do to the run that it shows.
type Steering struct {
	// Do passes on what was asked for. It must not block.
	Do    func(Request)
	Place Place
}

// Place is where a run takes place, for what is said of leaving it.
type Place int

// The places.
const (
	Thrown      Place = iota // a plane that ends with the command
	KeptPlane                // a plane that outlives it: the run can be gone on with
	RealCluster              // a cluster, which holds the state of the run
	Elsewhere                // another process runs it: who leaves only stops to watch
)

// stays says what stays when a run is left.
func (p Place) stays() string {
	if p == RealCluster {
		return "the cluster stays as it is"
	}
	return "the plane stays up"
}

// Steer lets the keys of the terminal steer the run that a display shows, and
// reports whether they do: only where both stdin and stderr are the terminal
// that the command was started on, and the display draws on it.
func Steer(display Display, streams *stream.Streams, s Steering) bool {
	t, ok := display.(*terminal)
	in, isFile := streams.In.(*os.File)
	if !ok || !isFile || !streams.ErrTerminal || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, err := openKeyboard(in, t.key, t.redraw)
	if err != nil {
		return false // a terminal that cannot be read can still be drawn on
	}
	t.keyboard, t.steering, t.screen.keys, t.screen.kept, t.screen.stays = keys, &s, true, s.Place != Thrown, s.Place.stays()
	t.screen.elsewhere = s.Place == Elsewhere
	return true
}

// Reported says that a report of every step follows on the same terminal: a display leaves
// none of them above its block.
func Reported(display Display) {
	if t, ok := display.(*terminal); ok {
		t.change(func(s *screen) { s.reported = true })
	}
}

func (t *terminal) Stage(text string) {
	t.change(func(s *screen) { s.stage, s.total = plain(text), 0 })
}

func (t *terminal) Counted(done, total int, what string) {
	t.change(func(s *screen) { s.done, s.total, s.what = done, total, plain(what) })
}

func (t *terminal) Change(change report.Change) {
	t.change(func(s *screen) { s.see(plainChange(change)) })
}

func (t *terminal) Board(board report.Board) {
	board = plainBoard(board)
	t.change(func(s *screen) {
		s.board = &board
		t.above = append(t.above, s.finished()...)
	})
}

// Redraw is the least time between two boards: more is not seen, and a board of
// thousands of components costs.
func (t *terminal) Redraw() time.Duration { return 250 * time.Millisecond }

// Close takes the block off the terminal and gives the terminal back as it was.
func (t *terminal) Close() {
	t.mu.Lock()
	keys := t.keyboard
	t.mu.Unlock()
	if keys != nil {
		keys.close() // first: it must not wait for a terminal that hangs
	}
	t.change(func(*screen) { t.closed = true })
	<-t.drawn
}

// key handles a key of the keyboard.
func (t *terminal) key(key byte) {
	var request *Request
	t.change(func(s *screen) {
		var lines []string
		lines, request = s.press(key)
		t.above = append(t.above, lines...)
	})
	if request != nil {
		t.steering.Do(*request)
	}
}

// redraw draws the block anew, below what else was printed.
func (t *terminal) redraw() { t.change(func(*screen) { t.moved = true }) }

// change changes what is shown; it is drawn soon. Nobody waits for the terminal.
func (t *terminal) change(f func(*screen)) {
	t.mu.Lock()
	f(&t.screen)
	t.mu.Unlock()
	select {
	case t.dirty <- struct{}{}:
	default:
	}
}

// fit keeps rows to a terminal. One that has fewer rows than the block would push
// the upper ones into the scrollback at every drawing: the last ones, with the
// question, stay.
func fit(rows []string, width, height int) []string {
	if over := len(rows) - max(height-1, 1); height > 0 && over > 0 {
		rows = rows[over:]
	}
	return each(rows, func(row *string) { *row = clip(*row, width) })
}

// heightOf measures a terminal in rows; 0 where that cannot be told.
func heightOf(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if _, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return rows
		}
	}
	return 0
}

// paint draws until the display is closed.
func (t *terminal) paint() {
	defer close(t.drawn)
	for range t.dirty {
		width, height := t.block.width(), t.height()
		t.mu.Lock()
		closed, above, rows := t.closed, wrapAll(t.above, width), fit(t.screen.rows(width, height), width, height)
		if t.moved {
			t.block.forget()
		}
		t.above, t.moved = nil, false
		t.mu.Unlock()
		if closed {
			t.block.draw(above, nil)
			return
		}
		t.block.draw(above, rows)
	}
}
