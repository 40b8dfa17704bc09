package progress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// press handles a key: it returns lines for the scrollback, and what was asked
// for, nil for nothing. What a key explains is shown in place of the board, until
// the key is pressed again.
func (s *screen) press(key byte) (lines []string, request *Request) {
	switch {
	case s.elsewhere && (key == keyInterrupt || key == 'q'):
		s.ending = "leaving"
		return nil, &Request{Leave: true}
	case key == keyInterrupt && (s.board == nil || s.question == leaving || s.ending == stopping):
		// Before the rollout there is nothing to ask about, and a stop may hang.
		return s.leave()
	case s.ending != "":
		return nil, nil
	case key == keyInterrupt:
		s.question, s.view = leaving, 0
		return nil, nil
	case s.question == leaving:
		return s.answerLeaving(key)
	case s.question == approving:
		return s.answerApproving(key)
	}
	switch key {
	case s.view, keyEscape: // again
		s.view = 0
	case '?', 'e', 'f':
		s.view = key
	case 'p':
		return s.pause()
	case 'a':
		s.ask()
	}
	return nil, nil
}

func (s *screen) answerLeaving(key byte) (lines []string, request *Request) {
	switch key {
	case 'd':
		if s.kept {
			return s.leave()
		}
	case 'p':
		s.question = nothing
		return s.pause()
	case 's':
		s.question, s.ending = nothing, stopping
		inFlight, waiting := s.counts()
		return []string{fmt.Sprintf("stopping: %d in flight are cancelled, %d never start", inFlight, waiting)}, &Request{Event: rollout.Abort{}}
	case 'c', keyEscape:
		s.question = nothing
	}
	return nil, nil
}

// leave ends the watching.
func (s *screen) leave() ([]string, *Request) {
	s.question, s.view, s.ending = nothing, 0, "ending: the plane is not kept"
	if s.kept {
		s.ending = "detaching: saving the state"
	}
	return nil, &Request{Leave: true}
}

func (s *screen) pause() ([]string, *Request) {
	if s.board == nil {
		return nil, nil
	}
	s.paused = !s.paused
	if !s.paused {
		return []string{"resumed"}, &Request{Event: rollout.Resume{}}
	}
	inFlight, _ := s.counts()
	return []string{fmt.Sprintf("paused: nothing more starts; %d in flight go on", inFlight)}, &Request{Event: rollout.Pause{}}
}

// ask asks before a step is approved.
func (s *screen) ask() {
	left := s.approvals()
	if len(left) == 0 {
		s.view = 'a'
		return
	}
	s.question, s.step, s.view = approving, left[0], 0
}

func (s *screen) answerApproving(key byte) (lines []string, request *Request) {
	switch key {
	case 'y':
		if s.approved == nil {
			s.approved = map[int]bool{}
		}
		s.question, s.approved[s.step.Step] = nothing, true
		return []string{"approved step " + s.step.Label}, &Request{Event: rollout.Approve{Step: s.step.Step}}
	case 'n', keyEscape:
		s.question = nothing
	}
	return nil, nil
}

func (s *screen) help() []string {
	if s.elsewhere {
		return []string{
			"e        explain: why what waits waits, root causes first",
			"f        failures, ranked by how many components they block",
			"p        pause: nothing more starts; again: resume",
			"a        approve a step that is started by hand (maxUpdate 0)",
			"q        leave; the rollout goes on",
		}
	}
	leave := "         Ctrl-C again ends the plane, which is not kept (--keep)"
	if s.kept {
		leave = "         Ctrl-C again detaches: " + s.stays + ", --resume goes on"
	}
	return []string{
		"e        explain: why what waits waits, root causes first",
		"f        failures, ranked by how many components they block",
		"p        pause: nothing more starts; again: resume",
		"a        approve a step that is started by hand (maxUpdate 0)",
		"Ctrl-C   ask: go on, pause, stop",
		leave,
	}
}

// How much explanations list.
const (
	mostCauses = 8
	mostNames  = 4
)

// explain says why what waits waits, root causes first, and what is in flight.
func (s *screen) explain() []string {
	if s.board == nil {
		return []string{"the rollout has not started: " + report.Plain(s.stage)}
	}
	inFlight, waiting := s.counts()
	lines := []string{fmt.Sprintf("after %s: %d wait, %d in flight", report.Clock(s.board.Elapsed), waiting, inFlight)}
	due := map[string]string{}
	for _, r := range s.board.Running {
		if r.Left > 0 {
			due[r.Component] = "  (times out in " + report.Clock(r.Left) + ")"
		}
	}
	roots := map[string]bool{}
	for i, w := range s.board.Why {
		if i == mostCauses {
			lines = append(lines, fmt.Sprintf("  … %d more causes", len(s.board.Why)-i))
			break
		}
		roots[w.On] = true
		line := "  " + report.Plain(w.On)
		if w.State != "" {
			line += "  " + w.State
		}
		if w.Text != "" {
			line += ": " + report.Plain(w.Text)
		}
		if w.Age > 0 {
			line += "  (seen " + report.Clock(w.Age) + " ago)"
		}
		lines = append(lines, line+due[w.On], fmt.Sprintf("    holds up %d: %s", len(w.Components), named(w.Components)))
	}
	shown := 0
	for _, r := range s.board.Running {
		if roots[r.Component] {
			continue
		}
		if shown++; shown > mostCauses {
			lines = append(lines, "  … and more in flight")
			break
		}
		lines = append(lines, fmt.Sprintf("  %s  in flight for %s: %s", r.Component, report.Clock(r.Elapsed), report.Plain(r.Text))+due[r.Component])
	}
	return lines
}

// named lists the first names and counts the rest.
func named(names []string) string {
	text := strings.Join(names[:min(len(names), mostNames)], ", ")
	if more := len(names) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// failures lists what failed, that which blocks most first.
func (s *screen) failures() []string {
	reasons, blocks := map[string]string{}, map[string]int{}
	if s.board != nil {
		for _, f := range s.board.Failed {
			reasons[f.Component], blocks[f.Component] = f.Text, f.Blocks
		}
	}
	for name, c := range s.latest { // a board may be a moment old
		delete(reasons, name)
		if rollout.Status(c.To).Bad() {
			reasons[name] = c.Reason
		}
	}
	if len(reasons) == 0 {
		return []string{"nothing has failed"}
	}
	names := slices.Collect(maps.Keys(reasons))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(blocks[b], blocks[a]), cmp.Compare(a, b)) })
	lines := []string{fmt.Sprintf("%d failed, those that block most first", len(names))}
	for i, name := range names {
		if i == 2*mostCauses {
			lines = append(lines, fmt.Sprintf("  … %d more", len(names)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("  ✕ %s  blocks %d  %s", name, blocks[name], report.Plain(reasons[name])))
	}
	return lines
}
