package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// maxRows is the greatest height of the block, a question included.
const maxRows = 12

// screen is what a terminal shows: it turns boards into rows and keys into
// requests. It knows no terminal.
type screen struct {
	style report.Style
	// keys says that keys steer, kept that a run which is left can be gone on
	// with.
	keys, kept bool
	// stays says what stays then.
	stays string
	// reported says that a report of the steps follows.
	reported bool
	// elsewhere says that another process runs the rollout.
	elsewhere bool

	stage       string
	what        string // counted
	done, total int
	board       *report.Board
	printed     map[string]bool          // steps that are in the scrollback
	latest      map[string]report.Change // by component

	// view is the key of what is shown in place of the board; 0 for nothing.
	view     byte
	question question
	step     report.BoardApproval // that is asked about
	paused   bool
	approved map[int]bool
	ending   string // what was asked for in the end
}

// question is what the next key answers.
type question int

const (
	nothing question = iota
	leaving
	approving
)

// stopping is shown after an abort was asked for.
const stopping = "stopping   (Ctrl-C leaves at once)"

// Request is something that a key asked for: an event for the rollout, or to
// leave it.
type Request struct {
	Event rollout.Event
	Leave bool
}

// see keeps up with what happens between two boards.
func (s *screen) see(c report.Change) {
	if s.latest == nil {
		s.latest = map[string]report.Change{}
	}
	s.latest[c.Component] = c
}

// finished are the lines of the steps that have finished since the last board.
func (s *screen) finished() []string {
	var lines []string
	if s.reported {
		return nil
	}
	for _, step := range s.board.Steps {
		if step.Finished() && step.Failed == 0 && !s.printed[step.Label] {
			if s.printed == nil {
				s.printed = map[string]bool{}
			}
			s.printed[step.Label] = true
			lines = append(lines, s.style.StepLine(*s.board, step))
		}
	}
	return lines
}

// rows draws the block for a terminal of a size; a height of 0 is not known.
func (s *screen) rows(width, height int) []string {
	switch {
	case s.board != nil:
		live, asked := s.style.Live(s.noted(width), width), wrapAll(s.asked(), width)
		foot := live[len(live)-1]
		live = live[:len(live)-1]
		if s.view != 0 {
			live = s.viewed(width, height)
		} else if over := len(live) + 1 + len(asked) - maxRows; over > 0 {
			live = live[:max(len(live)-over, 0)]
		}
		return slices.Concat(live, []string{foot}, asked)
	case s.total > 0:
		const cells = 24
		filled := cells * s.done / s.total
		bar := strings.Repeat("█", filled) + strings.Repeat("░", cells-filled)
		return append(s.viewed(width, height), clip(fmt.Sprintf("%s %s %d/%d", s.what, bar, s.done, s.total), width))
	case s.stage != "":
		return append(s.viewed(width, height), clip(s.stage, width))
	default:
		return s.viewed(width, height)
	}
}

// viewed are the rows of what is shown in place of the board. They leave room for the last
// row, and for the cursor.
func (s *screen) viewed(width, height int) []string {
	var lines []string
	switch s.view {
	case '?':
		lines = s.help()
	case 'e':
		lines = s.explain()
	case 'f':
		lines = s.failures()
	case 'a':
		lines = []string{"nothing waits for approval"}
	}
	lines = wrapAll(lines, width)
	if room := max(maxRows, height-1) - 1; len(lines) > room {
		return append(lines[:room-1], fmt.Sprintf("… %d more lines", len(lines)-room+1))
	}
	return lines
}

// noted is the board with a note that fits on a terminal of a width, if one does.
func (s *screen) noted(width int) report.Board {
	board := *s.board
	if !s.keys {
		return board
	}
	for _, keys := range [][2]string{
		{"[e]xplain [f]ailures [p]ause [?]", "[p] resume [e]xplain [f]ailures [?]"},
		{"[e] [f] [p] [?]", "[p] resume [e] [f] [?]"},
		{"[?]", "[p] [?]"},
	} {
		board.Note = s.note(keys[0], keys[1])
		if columns(board.Foot()) <= width {
			break
		}
	}
	return board
}

// note is the end of the last row: what was asked for, and the keys of a rollout that goes
// on or is paused.
func (s *screen) note(keys, paused string) string {
	if s.ending != "" {
		return s.ending
	}
	parts := []string{keys}
	if s.paused {
		parts = []string{"paused", paused}
	}
	if s.view != 0 {
		parts[len(parts)-1] = "[esc] back"
	}
	if a := s.approvals(); len(a) > 0 {
		parts = append([]string{"[a]pprove " + a[0].Label}, parts...)
	}
	return strings.Join(parts, "   ")
}

// asked are the rows of the question.
func (s *screen) asked() []string {
	inFlight, waiting := s.counts()
	switch s.question {
	case leaving:
		pause := fmt.Sprintf("  [p]ause     start nothing more; %d in flight go on", inFlight)
		if s.paused {
			pause = "  [p]         resume: start again what may start"
		}
		stop := fmt.Sprintf("  [s]top      abort: cancel %d in flight, never start %d; the report says aborted", inFlight, waiting)
		if s.kept {
			return []string{
				"Ctrl-C: nothing has been stopped. What now?",
				"  [d]etach    " + s.stays + ", the state is saved; go on later with --resume",
				pause, stop,
				"  [c]ontinue  (Ctrl-C again detaches)",
			}
		}
		return []string{
			"Ctrl-C: nothing has been stopped. What now?",
			pause, stop,
			"  [c]ontinue",
			"  The plane is not kept (--keep): Ctrl-C again ends it, and the rollout with it",
		}
	case approving:
		return []string{fmt.Sprintf("Approve step %s? %s may start then. [y]es [n]o", s.step.Label, finding.Count(s.step.Count, "component"))}
	default:
		return nil
	}
}

// counts are how many components are in flight and how many have not started.
func (s *screen) counts() (inFlight, waiting int) {
	if s.board == nil {
		return 0, 0
	}
	for _, w := range s.board.Waiting {
		waiting += w.Count
	}
	return len(s.board.Running), waiting
}

// approvals are the steps that wait for approval and have not been approved
// here; the board may be a moment old.
func (s *screen) approvals() []report.BoardApproval {
	var left []report.BoardApproval
	if s.board == nil {
		return nil
	}
	for _, a := range s.board.Approvals {
		if !s.approved[a.Step] {
			left = append(left, a)
		}
	}
	return left
}
