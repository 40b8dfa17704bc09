package progress

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Display shows one run. Its methods may be called from several goroutines.
type Display interface {
	// Stage says what is being done before the rollout starts.
	Stage(text string)
	// Counted says how far a stage is.
	Counted(done, total int, what string)
	// Change shows one transition.
	Change(change report.Change)
	// Board shows the whole rollout, as often as Redraw says; never where that
	// is 0.
	Board(board report.Board)
	Redraw() time.Duration
	// Close takes the display off the terminal; what is printed afterwards
	// stands below it.
	Close()
}

// New chooses the display: what --progress says, else a block on a terminal
// and plain lines in pipes, on dumb terminals and in CI. A block is drawn on
// terminals only, whatever is asked for: its control codes mean nothing to a
// pipe.
func New(streams *stream.Streams, global *flags.Global, now func() time.Time) Display {
	mode := global.Progress
	if mode == "auto" {
		mode = "plain"
		if streams.ErrTerminal && streams.Getenv("TERM") != "dumb" && streams.Getenv("CI") == "" {
			mode = "tty"
		}
		if global.Quiet {
			mode = "none"
		}
	}
	switch {
	case mode == "tty" && streams.ErrTerminal:
		return newTerminal(streams)
	case mode == "json":
		return &lines{out: streams.Whole(), now: now, print: printJSON, starts: true}
	case mode == "none":
		return silent{}
	default:
		return &lines{out: streams.Err, now: now, print: printPlain, groups: streams.Getenv("GITHUB_ACTIONS") == "true", commands: streams.Direct()}
	}
}

type silent struct{}

func (silent) Stage(string)             {}
func (silent) Counted(int, int, string) {}
func (silent) Change(report.Change)     {}
func (silent) Board(report.Board)       {}
func (silent) Redraw() time.Duration    { return 0 }
func (silent) Close()                   {}
