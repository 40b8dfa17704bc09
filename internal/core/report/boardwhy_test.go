package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestRootCauses takes a rollout apart that waits for three things: a database
// that is not ready, which the rest waits for through a chain; and an approval.
func TestRootCauses(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	state := rollout.State{
		Spec: rollout.Spec{
			Steps: []rollout.StepSpec{{Label: "100"}, {Label: "200", Limit: -1}},
			Components: []rollout.ComponentSpec{
				{Name: "db"}, {Name: "api"}, {Name: "web"}, {Name: "cron", Step: 1}, {Name: "mail", Step: 1},
			},
		},
		Components: []rollout.ComponentState{
			{Name: "db", Status: rollout.Waiting, Seen: rollout.Sighting{At: now.Add(-5 * time.Second), Message: "StatefulSet db: 0 of 1 ready"}},
			{Name: "api", Status: rollout.Blocked},
			{Name: "web", Status: rollout.Blocked},
			{Name: "cron", Status: rollout.Blocked},
			{Name: "mail", Status: rollout.Blocked},
		},
	}
	asks := rollout.Blocker{Kind: rollout.OnApproval, Reason: "step 200 waits for approval"}
	blockers := map[string][]rollout.Blocker{
		"api":  {{Kind: rollout.OnRequirement, Component: "db"}},
		"web":  {{Kind: rollout.OnStep, Component: "api"}},
		"cron": {asks, {Kind: rollout.OnPause, Reason: "the rollout is paused"}},
		"mail": {{Kind: rollout.OnStep, Component: "api"}, asks},
	}
	asked := map[string]int{}
	b := BoardOf(state, []string{"", ""}, func(name string) []rollout.Blocker {
		asked[name]++
		return blockers[name]
	}, 0, now)
	wantWhy := []BoardWhy{
		{On: "db", State: "progressing", Text: "StatefulSet db: 0 of 1 ready", Age: 5 * time.Second, Components: []string{"api", "web", "mail"}},
		{On: "step 200 waits for approval", Components: []string{"cron"}},
	}
	if diff := cmp.Diff(wantWhy, b.Why); diff != "" {
		t.Errorf("root causes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]BoardApproval{{Step: 1, Label: "200", Count: 2}}, b.Approvals); diff != "" {
		t.Errorf("approvals (-want +got):\n%s", diff)
	}
	for name, n := range asked {
		if n > 1 {
			t.Errorf("the blockers of %s were asked for %d times", name, n)
		}
	}
}

// Components that wait for each other have no root; looking for one ends.
func TestRootCauseOfACircle(t *testing.T) {
	state := rollout.State{
		Spec:       rollout.Spec{Steps: []rollout.StepSpec{{}}, Components: make([]rollout.ComponentSpec, 2)},
		Components: []rollout.ComponentState{{Name: "a", Status: rollout.Blocked}, {Name: "b", Status: rollout.Blocked}},
	}
	other := map[string]string{"a": "b", "b": "a"}
	b := BoardOf(state, []string{""}, func(name string) []rollout.Blocker {
		return []rollout.Blocker{{Kind: rollout.OnRequirement, Component: other[name]}}
	}, 0, time.Time{})
	n := 0
	for _, w := range b.Why {
		n += len(w.Components)
	}
	if n != 2 {
		t.Errorf("%d components wait for something, want 2: %v", n, b.Why)
	}
}

// The clock of a step stands when its last component has ended, well or not.
func TestElapsedOfAFailedStep(t *testing.T) {
	start := time.Unix(1000, 0)
	state := rollout.State{Spec: rollout.Spec{
		Steps:      []rollout.StepSpec{{Label: "100"}},
		Components: []rollout.ComponentSpec{{Name: "a"}, {Name: "b"}},
	}, Components: []rollout.ComponentState{
		{Name: "a", Status: rollout.Done, StartedAt: start, HealthyAt: start.Add(time.Minute)},
		{Name: "b", Status: rollout.TimedOut, StartedAt: start, EndedAt: start.Add(15 * time.Minute)},
	}}
	none := func(string) []rollout.Blocker { return nil }
	elapsed := func(want time.Duration) {
		t.Helper()
		step := BoardOf(state, []string{""}, none, 0, start.Add(time.Hour)).Steps[0]
		step.Tick(time.Second)
		if step.Elapsed != want {
			t.Errorf("%s elapsed, want %s", step.Elapsed, want)
		}
	}
	elapsed(15 * time.Minute)
	state.Components[1].Status, state.Components[1].EndedAt = rollout.Waiting, time.Time{}
	elapsed(time.Hour + time.Second)
}

// A component has no more time left than the whole.
func TestTimeLeft(t *testing.T) {
	now := time.Unix(1000, 0)
	in := func(seconds int) time.Time {
		if seconds == 0 {
			return time.Time{}
		}
		return now.Add(time.Duration(seconds) * time.Second)
	}
	for _, c := range []struct{ component, whole, want int }{{0, 0, 0}, {19, 0, 19}, {19, 40, 19}, {19, 5, 5}, {0, 5, 5}} {
		state := rollout.State{
			Spec:       rollout.Spec{Steps: []rollout.StepSpec{{}}, Components: []rollout.ComponentSpec{{Name: "a"}}},
			Components: []rollout.ComponentState{{Name: "a", Status: rollout.Waiting, StartedAt: now, Deadline: in(c.component)}},
		}
		state.Deadline = in(c.whole)
		got := BoardOf(state, []string{""}, func(string) []rollout.Blocker { return nil }, 0, now).Running[0].Left
		if got != time.Duration(c.want)*time.Second {
			t.Errorf("%s left with %ds for the component and %ds for the whole", got, c.component, c.whole)
		}
	}
}

// The clock of a step does not start again with an attempt.
func TestElapsedOfAttempts(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	end := start.Add(3 * time.Minute)
	state := rollout.State{
		Spec:       rollout.Spec{Steps: []rollout.StepSpec{{}}, Components: []rollout.ComponentSpec{{Name: "a"}}},
		Components: []rollout.ComponentState{{Name: "a", Status: rollout.Failed, Attempt: 6, UnblockedAt: start, StartedAt: end, EndedAt: end}},
	}
	none := func(string) []rollout.Blocker { return nil }
	if got := BoardOf(state, []string{""}, none, 0, end.Add(time.Hour)).Steps[0].Elapsed; got != 3*time.Minute {
		t.Errorf("the step took %s", got)
	}
}
