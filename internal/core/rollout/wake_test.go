package rollout

import (
	"testing"
	"time"
)

// begunOf is a rollout of one component that has started.
func begunOf(t *testing.T, spec ComponentSpec, now time.Time) *Machine {
	t.Helper()
	m, err := NewMachine(Spec{Revision: "r", Policy: Edges, Steps: []StepSpec{{Label: "100"}}, Components: []ComponentSpec{spec}}, now)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(Started{}, now)
	return m
}

// Whoever skips time must know which moments give something up.
func TestWhatFailsAtTheNextWake(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	m := begunOf(t, ComponentSpec{Name: "db", Timeout: 10 * time.Minute, DegradedGrace: time.Minute, Retry: RetrySpec{Limit: 1, Duration: 5 * time.Second}}, noon)
	check := func(what string, at time.Duration, fails bool) {
		t.Helper()
		if w := m.NextWake(); !w.At.Equal(noon.Add(at)) || w.Fails != fails {
			t.Errorf("%s: the next wake is %s later and fails something: %v; want %s and %v", what, w.At.Sub(noon), w.Fails, at, fails)
		}
	}
	check("syncing", 10*time.Minute, true)
	m.Step(SyncFinished{Component: "db", Attempt: 1, Error: "refused"}, noon)
	check("retrying", 5*time.Second, false)
	m.Step(Tick{}, noon.Add(5*time.Second))
	m.Step(SyncFinished{Component: "db", Attempt: 2}, noon.Add(6*time.Second))
	m.Step(Observed{Component: "db", Health: Degraded, Revision: "r", Message: "crashes"}, noon.Add(time.Minute))
	check("degraded", 2*time.Minute, true)
}

func TestTimeUp(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	m := begunOf(t, ComponentSpec{Name: "db"}, noon)
	m.Step(TimeUp{After: 3 * time.Second}, noon.Add(time.Hour))
	if m.Result() != ResultTimedOut || m.State().Message != "the rollout timed out after 3s; db: the rollout timed out after 3s" {
		t.Errorf("result %s: %s", m.Result(), m.State().Message)
	}
	if u := m.Step(TimeUp{After: 3 * time.Second}, noon.Add(2*time.Hour)); u.Changed() {
		t.Error("a rollout that has ended times out again")
	}
}
