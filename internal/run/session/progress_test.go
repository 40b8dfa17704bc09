package session

import (
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// boards is an observer that keeps the last board and the last change.
type boards struct {
	last    report.Board
	changed report.Change
}

func (b *boards) Stage(string)               {}
func (b *boards) Counted(int, int, string)   {}
func (b *boards) Change(c report.Change)     { b.changed = c }
func (b *boards) Board(board report.Board)   { b.last = board }
func (b *boards) Redraw() time.Duration      { return time.Second }
func (b *boards) running() []report.BoardRow { return b.last.Running }

// TestNothingStaysUnshown makes two changes within the time of one board: the
// second one is shown by the next tick, though nothing happens any more.
func TestNothingStaysUnshown(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	now := noon
	observer := &boards{}
	a := &Progress{observer: observer, names: []string{""}, redraw: time.Second, now: func() time.Time { return now }, real: func() time.Time { return now }}
	m, err := rollout.NewMachine(rollout.Spec{
		Revision: "r", Policy: rollout.Edges, Steps: []rollout.StepSpec{{Label: "100"}},
		Components: []rollout.ComponentSpec{{Name: "db", Timeout: 10 * time.Minute}, {Name: "api", Requires: []string{"db"}}},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(rollout.Started{}, now)
	a.Notice(executor.Notice{At: now, View: m})
	if r := observer.running(); len(r) != 1 || r[0].Text != "applying" {
		t.Fatalf("running: %v", r)
	}
	now = noon.Add(100 * time.Millisecond)
	m.Step(rollout.SyncFinished{Component: "db", Attempt: 1}, now)
	m.Step(rollout.Observed{Component: "db", Health: rollout.Progressing, Revision: "r", Message: "0 of 1 ready"}, now)
	a.Notice(executor.Notice{At: now, View: m})
	now = noon.Add(1500 * time.Millisecond)
	a.tick()
	if r := observer.running(); len(r) != 1 || r[0].Text != "0 of 1 ready" {
		t.Errorf("running: %v", r)
	}
	now = now.Add(2 * time.Second)
	a.tick() // nothing has changed, and the clocks go on
	if r := observer.running(); len(r) != 1 || r[0].Left != 10*time.Minute-3500*time.Millisecond {
		t.Errorf("%s left", r[0].Left)
	}
	if w := observer.last.Why; len(w) != 1 || w[0].On != "db" {
		t.Errorf("why: %v", w)
	}
}

// What stood in as an empty component is not counted as Healthy, and not called so.
func TestUnrenderedIsNotHealthy(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	observer := &boards{}
	a := &Progress{
		observer: observer, names: []string{""}, lacking: map[string]bool{"far": true}, redraw: time.Second,
		now: func() time.Time { return now }, real: func() time.Time { return now },
	}
	m, err := rollout.NewMachine(rollout.Spec{
		Revision: "r", Policy: rollout.Edges, Steps: []rollout.StepSpec{{Label: "100"}}, Components: []rollout.ComponentSpec{{Name: "far", Unrendered: true}},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(rollout.Started{}, now)
	m.Step(rollout.SyncFinished{Component: "far", Attempt: 1}, now)
	m.Step(rollout.Observed{Component: "far", Health: rollout.Healthy, Revision: "r"}, now)
	a.Notice(executor.Notice{At: now, View: m, Transitions: []rollout.Transition{{Component: "far", From: rollout.Waiting, To: rollout.Done, Reason: "Healthy at the revision"}}})
	if s := observer.last.Steps[0]; s.Done != 0 || s.Unrendered != 1 || !s.Finished() {
		t.Errorf("%+v", s)
	}
	if c := observer.changed; c.To != report.StateUnrendered || strings.Contains(c.Reason, "Healthy") {
		t.Errorf("%+v", c)
	}
}

// Nothing of what could not be rendered is called applied.
func TestUnrenderedIsNotApplied(t *testing.T) {
	applied := rollout.Transition{Component: "far", From: rollout.Syncing, To: rollout.Waiting, Reason: "applied"}
	for unrendered, want := range map[bool]string{false: "applied", true: "there is nothing of it to apply"} {
		if _, to, reason := Told(applied, unrendered); to != string(rollout.Waiting) || reason != want {
			t.Errorf("unrendered %t: %s %q", unrendered, to, reason)
		}
	}
}
