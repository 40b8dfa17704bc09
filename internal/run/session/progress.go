package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// Progress shows the rollout to an observer.
type Progress struct {
	observer Observer
	phases   map[string]string
	// lacking are the components that were not rendered.
	lacking  map[string]bool
	names    []string // of the steps
	expected time.Duration
	redraw   time.Duration // least time between two boards
	// now is the time of the rollout, real that of who looks: a rehearsal may skip time.
	now, real func() time.Time

	mu           sync.Mutex
	board        report.Board
	taken, drawn time.Time // when board was made, by now and by real
	// newer is what changed too soon after the board was made to be shown at
	// once; nil for nothing.
	newer *rollout.State
}

// Run runs a rollout, whose expected times are divided by speed, and shows it to an
// observer.
func Run(ctx context.Context, observer Observer, loaded *analysis.Result, planned *plan.Plan, speed float64, config executor.Config) (executor.Outcome, error) {
	progress := NewProgress(observer, loaded, planned, speed, config.Clock.Now)
	sink := config.Sink
	config.Sink = func(n executor.Notice) {
		if sink != nil {
			sink(n)
		}
		progress.Notice(n)
	}
	defer progress.Refresh(ctx)()
	outcome, err := executor.Run(ctx, config)
	if err != nil {
		return outcome, fmt.Errorf("run the rollout: %w", err)
	}
	return outcome, nil
}

// NewProgress returns the progress of a rollout whose expected times are divided
// by speed.
func NewProgress(observer Observer, loaded *analysis.Result, planned *plan.Plan, speed float64, now func() time.Time) *Progress {
	a := &Progress{observer: observer, phases: map[string]string{}, lacking: Lacking(loaded), redraw: observer.Redraw(), now: now, real: time.Now}
	a.expected = time.Duration(float64(planned.Makespan) / speed)
	for _, c := range loaded.Platform.Components {
		a.phases[c.Name] = c.Order()
	}
	a.names = StepNames(loaded, planned)
	return a
}

// Notice is drive's sink.
func (a *Progress) Notice(n executor.Notice) {
	for _, t := range n.Transitions {
		from, to, reason := Told(t, a.lacking[t.Component])
		a.observer.Change(report.Change{At: t.At, Phase: a.phases[t.Component], Component: t.Component, From: from, To: to, Reason: reason})
	}
	if a.redraw == 0 {
		return
	}
	state := n.View.State()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.real().Sub(a.drawn) < a.redraw {
		a.newer = &state
		return
	}
	a.show(state, n.View.BlockedBy, n.At)
}

// show shows a new board.
func (a *Progress) show(state rollout.State, blockedBy func(string) []rollout.Blocker, at time.Time) {
	board := report.BoardOf(state, a.names, blockedBy, a.expected, at)
	a.board, a.taken, a.drawn, a.newer = board, at, a.real(), nil
	a.observer.Board(board)
}

// Refresh shows what changed too soon to be shown at once, and lets the clocks
// of the board go on while nothing changes, until the returned function is
// called.
func (a *Progress) Refresh(ctx context.Context) (stop func()) {
	if a.redraw == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(a.redraw)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				a.tick()
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (a *Progress) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	passed := now.Sub(a.taken)
	if a.taken.IsZero() || a.real().Sub(a.drawn) < a.redraw {
		return
	}
	if a.newer != nil {
		if m, err := rollout.Restore(*a.newer); err == nil { // it comes from a machine
			a.show(*a.newer, m.BlockedBy, now)
			return
		}
	}
	board := a.board
	board.Elapsed += passed
	board.Running = append([]report.BoardRow(nil), board.Running...)
	for i := range board.Running {
		board.Running[i].Tick(passed)
	}
	board.Steps = append([]report.BoardStep(nil), board.Steps...)
	for i := range board.Steps {
		board.Steps[i].Tick(passed)
	}
	a.observer.Board(board)
}

// StepNames gives each step that has planned components the role that most of
// them run, in the order of rollout.Spec.Steps.
func StepNames(loaded *analysis.Result, planned *plan.Plan) []string {
	types := map[string]string{}
	for _, c := range loaded.Typed() {
		types[c.Name] = string(c.Type)
	}
	names := make([]string, len(planned.Steps))
	for i, s := range planned.Steps {
		counts, best := map[string]int{}, ""
		for _, name := range s.Components {
			t := types[name]
			counts[t]++
			if best == "" || counts[t] > counts[best] {
				best = t
			}
		}
		names[i] = best
	}
	return names
}
