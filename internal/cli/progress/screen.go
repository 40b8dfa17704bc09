package progress

import (
	"fmt"
	"strings"

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
	// elsewhere says that another process runs the rollout.
	elsewhere bool

	stage       string
	what        string // counted
	done, total int
	board       *report.Board
	printed     map[string]bool          // steps that are in the scrollback
	latest      map[string]report.Change // by component

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
	for _, step := range s.board.Steps {
		if step.Finished() && step.Failed == 0 && !s.printed[step.Label] {
			if s.printed == nil {
				s.printed = map[string]bool{}
			}
			s.printed[step.Label] = true
			lines = append(lines, s.style.StepLine(step))
		}
	}
	return lines
}

// rows draws the block for a terminal of a width.
func (s *screen) rows(width int) []string {
	switch {
	case s.board != nil:
		board := *s.board
		if s.keys {
			board.Note = s.note(width)
		}
		live, asked := s.style.Live(board, width), s.asked()
		if over := len(live) + len(asked) - maxRows; over > 0 {
			foot := live[len(live)-1]
			live = append(live[:len(live)-1-over], foot)
		}
		for _, row := range asked {
			live = append(live, clip(row, width))
		}
		return live
	case s.total > 0:
		const cells = 24
		filled := cells * s.done / s.total
		bar := strings.Repeat("█", filled) + strings.Repeat("░", cells-filled)
		return []string{clip(fmt.Sprintf("%s %s %d/%d", s.what, bar, s.done, s.total), width)}
	case s.stage != "":
		return []string{clip(s.stage, width)}
	default:
		return nil
	}
}

// narrow is the width below which the keys are not named.
const narrow = 70

// note is the end of the last row: what was asked for, and the keys.
func (s *screen) note(width int) string {
	if s.ending != "" {
		return s.ending
	}
	parts := []string{"[e]xplain [f]ailures [p]ause [?]"}
	if s.paused {
		parts = []string{"paused", "[p] resume [e]xplain [f]ailures [?]"}
	}
	if width < narrow {
		parts[len(parts)-1] = "[e] [f] [p] [?]"
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
				"  [c]ontinue                                        (Ctrl-C again detaches)",
			}
		}
		return []string{
			"Ctrl-C: nothing has been stopped. What now?",
			pause, stop,
			"  [c]ontinue",
			"  The plane is not kept (--keep): Ctrl-C again ends it, and the rollout with it",
		}
	case approving:
		return []string{fmt.Sprintf("Approve step %s? %d components may start then. [y]es [n]o", s.step.Label, s.step.Count)}
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
