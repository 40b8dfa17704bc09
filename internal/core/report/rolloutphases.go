package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// phaseSummary is one phase of a finished rollout.
type phaseSummary struct {
	label       string
	done, total int
	// empty are those that were not rendered and stood in until the end. Like each of the
	// others it counts no component of another: together with done they are all.
	failed, blocked, inFlight, empty, skipped tally
	first, last                               time.Time
	slowest                                   string
	slowestLength                             time.Duration
	types                                     map[string]int
}

// tally counts components, and those among them of which something was not rendered.
type tally struct{ all, unrendered int }

func (t *tally) add(unrendered bool) {
	t.all++
	if unrendered {
		t.unrendered++
	}
}

// role is the type that most of its components have, the least by name where
// several do.
func (p phaseSummary) role() string {
	best := ""
	for t, n := range p.types {
		if best == "" || n > p.types[best] || n == p.types[best] && t < best {
			best = t
		}
	}
	return best
}

// took is the time of the phase; "-" for one of which nothing has ended.
func (p phaseSummary) took() string {
	if p.first.IsZero() || p.last.IsZero() {
		return "-"
	}
	return Clock(p.length())
}

func (p phaseSummary) length() time.Duration {
	if p.first.IsZero() || p.last.Before(p.first) {
		return 0
	}
	return p.last.Sub(p.first)
}

// summary counts a report.
type summary struct {
	phases                                    []phaseSummary
	healthy, planned                          int
	failed, blocked, inFlight, empty, skipped tally
	removed, toRemove                         int
}

// unrendered counts those of which something was not rendered, whatever became of them.
func (s summary) unrendered() int {
	return s.failed.unrendered + s.blocked.unrendered + s.inFlight.unrendered + s.empty.unrendered + s.skipped.unrendered
}

func summarise(r Rollout) summary {
	var s summary
	at, lacking := map[string]int{}, map[string]bool{}
	for _, u := range r.Unrendered {
		lacking[u.Component] = true
	}
	began := r.firstStarts()
	for _, c := range r.Components {
		if c.Removal {
			s.toRemove++
			switch status := rollout.Status(c.State); {
			case status == rollout.Removed:
				s.removed++
			case status == rollout.Blocked:
				s.blocked.add(false)
			case r.left(c):
				s.inFlight.add(false)
			default:
				s.failed.add(false)
			}
			continue
		}
		i, ok := at[c.Phase]
		if !ok {
			i = len(s.phases)
			at[c.Phase] = i
			s.phases = append(s.phases, phaseSummary{label: c.Phase, types: map[string]int{}})
		}
		p := &s.phases[i]
		p.types[c.Type]++
		started, ended := began(c), c.ended()
		if !started.IsZero() && (p.first.IsZero() || started.Before(p.first)) {
			p.first = started
		}
		if ended.After(p.last) {
			p.last = ended
		}
		if length := ended.Sub(started); !started.IsZero() && length > p.slowestLength {
			p.slowest, p.slowestLength = c.Name, length
		}
		whole, phase := &s.failed, &p.failed
		switch status := rollout.Status(c.State); {
		case status == rollout.Skipped:
			whole, phase = &s.skipped, &p.skipped
		case c.State == StateUnrendered:
			whole, phase = &s.empty, &p.empty
		case status == rollout.Done:
			s.healthy++
			p.done++
			whole, phase = nil, nil
		case status == rollout.Blocked:
			whole, phase = &s.blocked, &p.blocked
		case r.left(c):
			whole, phase = &s.inFlight, &p.inFlight
		}
		if whole != nil {
			unrendered := lacking[c.Name] || c.State == StateUnrendered
			whole.add(unrendered)
			phase.add(unrendered)
		}
		if whole != &s.skipped {
			s.planned++
			p.total++
		}
	}
	return s
}

// firstStarts finds when the first attempt of a component started: what an attempt took
// that failed counts, and the wait for the next one.
func (r Rollout) firstStarts() func(RolloutComponent) time.Time {
	first := map[string]time.Time{}
	for _, t := range r.Transitions {
		if _, ok := first[t.Component]; !ok && t.To == string(rollout.Syncing) {
			first[t.Component] = time.Time(t.At)
		}
	}
	return func(c RolloutComponent) time.Time {
		last := time.Time(c.StartedAt)
		if at, ok := first[c.Name]; ok && at.Before(last) {
			return at
		}
		return last
	}
}

// ended is when the last attempt of a component ended, well or not; zero for one that did
// not end.
func (c RolloutComponent) ended() time.Time {
	if at := time.Time(c.EndedAt); !at.IsZero() {
		return at
	}
	return time.Time(c.HealthyAt)
}

// left reports whether a component was in flight when its rollout was interrupted: it has
// not failed.
func (r Rollout) left(c RolloutComponent) bool {
	return r.Result == ResultInterrupted && time.Time(c.EndedAt).IsZero()
}

// labels is how wide the column with the labels of the phases is.
func (s summary) labels() int {
	width := 7
	for _, p := range s.phases {
		width = max(width, utf8.RuneCountInString(p.label))
	}
	return width
}

// phaseLine prints a phase; its label takes a number of columns.
func (s Style) phaseLine(p phaseSummary, labels int) string {
	glyph, colour := "·", faint
	switch {
	case p.failed.all > 0:
		glyph, colour = "✕", red
	case p.total > 0 && p.done == p.total:
		glyph, colour = "✓", green
	case p.total > 0 && p.done+p.empty.all == p.total:
		glyph, colour = "!", yellow
	case p.inFlight.all > 0:
		glyph, colour = "▶", cyan
	}
	row := fmt.Sprintf("%s %-*s %-10s %3d/%-3d", glyph, labels, p.label, p.role(), p.done, p.total)
	took := fmt.Sprintf(" %7s", p.took())
	var text strings.Builder
	text.WriteString(s.paint(colour, row) + took)
	width := utf8.RuneCountInString(row + took)
	for _, part := range p.notes() {
		// What is left out is in the verdict or below. A mark of it would look like work
		// that goes on.
		if width += utf8.RuneCountInString(part); s.Width > 0 && width > s.Width {
			break
		}
		text.WriteString(s.paint(faint, part))
	}
	return text.String()
}

// notes are what a row adds to its figures, as far as there is room: what matters most
// first.
func (p phaseSummary) notes() []string {
	var notes []string
	for _, count := range []struct {
		tally
		text string
	}{{p.failed, "failed"}, {p.blocked, "blocked"}, {p.inFlight, "in flight"}, {tally{all: p.empty.all}, "not rendered"}, {p.skipped, "skipped"}} {
		if count.all == 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("  %d %s", count.all, count.text))
		if count.unrendered > 0 {
			notes = append(notes, fmt.Sprintf(" (%d not rendered)", count.unrendered))
		}
	}
	if p.slowest != "" {
		notes = append(notes, fmt.Sprintf("  slowest %s %s", p.slowest, Clock(p.slowestLength)))
	}
	return notes
}
