package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// BoardOf condenses a rollout into a board. names gives each step its role
// ("runtimes"); blockedBy says what a component waits for, the gravest first;
// expected is the planned makespan, 0 for none.
func BoardOf(state rollout.State, names []string, blockedBy func(component string) []rollout.Blocker, expected time.Duration, now time.Time) Board {
	b := Board{Steps: make([]BoardStep, len(state.Spec.Steps)), Expected: expected}
	for i, s := range state.Spec.Steps {
		b.Steps[i] = BoardStep{Label: s.Label, Name: names[i]}
	}
	if !state.StartedAt.IsZero() {
		b.Elapsed = now.Sub(state.StartedAt)
	}
	if !state.PausedAt.IsZero() {
		b.Note = "paused"
	}
	causes := newRootCauses(state, blockedBy)
	b.Why, b.Approvals = causes.whys(now), causes.approvals()
	waits, blocks := map[string]int{}, map[string]int{}
	first := make([]time.Time, len(b.Steps))
	for i, c := range state.Components {
		at := state.Spec.Components[i].Step
		step := &b.Steps[at]
		step.Total++
		if !c.StartedAt.IsZero() {
			step.Started = true
			began := c.StartedAt
			if c.Attempt > 1 && !c.UnblockedAt.IsZero() {
				began = c.UnblockedAt // attempts before this one count
			}
			if first[at].IsZero() || began.Before(first[at]) {
				first[at] = began
			}
		}
		switch {
		case c.Status == rollout.Done && state.Spec.Components[i].Unrendered:
			step.Unrendered++
		case c.Status == rollout.Done:
			step.Done++
		case c.Status.Bad():
			step.Failed++
			b.Failed = append(b.Failed, BoardRow{Component: c.Name, Text: explain(c)})
		case c.Status == rollout.Blocked:
			if reasons := causes.of(c.Name); len(reasons) > 0 {
				waits[waitingOn(reasons[0])]++
				for _, root := range roots(reasons) {
					blocks[root]++
				}
			}
		default:
			b.Running = append(b.Running, BoardRow{Component: c.Name, Elapsed: now.Sub(c.StartedAt), Left: left(c, state.Deadline, now), Text: explain(c)})
		}
	}
	for _, c := range state.Removals {
		switch {
		case c.Status == rollout.Removing:
			b.Running = append(b.Running, BoardRow{Component: c.Name, Elapsed: now.Sub(c.StartedAt), Left: left(c, state.Deadline, now), Text: "removing: " + removalText(c)})
		case c.Status.Bad():
			b.Failed = append(b.Failed, BoardRow{Component: c.Name, Text: explain(c)})
		}
	}
	for i, s := range b.Steps {
		b.Steps[i].Elapsed = stepElapsed(state, i, first[i], s.ended(), now)
	}
	for on, n := range waits {
		b.Waiting = append(b.Waiting, BoardWait{Count: n, On: on})
	}
	slices.SortFunc(b.Waiting, func(x, y BoardWait) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.On, y.On))
	})
	slices.SortStableFunc(b.Running, func(x, y BoardRow) int { return cmp.Compare(y.Elapsed, x.Elapsed) })
	for i := range b.Failed {
		b.Failed[i].Blocks = blocks[b.Failed[i].Component]
	}
	slices.SortStableFunc(b.Failed, func(x, y BoardRow) int { return cmp.Compare(y.Blocks, x.Blocks) })
	return b
}

// left is the time until a component times out, or the whole before it; 0 for neither.
func left(c rollout.ComponentState, whole, now time.Time) time.Duration {
	end := c.Deadline
	if end.IsZero() || !whole.IsZero() && whole.Before(end) {
		end = whole
	}
	if end.IsZero() {
		return 0
	}
	return max(end.Sub(now), 1)
}

// stepElapsed is the time from the first start of a step to the end of its last
// component, or to now while one is left.
func stepElapsed(state rollout.State, step int, first time.Time, ended bool, now time.Time) time.Duration {
	if first.IsZero() {
		return 0
	}
	end := now
	if ended {
		end = first
		for i, c := range state.Components {
			at := c.HealthyAt
			if c.Status.Bad() {
				at = c.EndedAt
			}
			if state.Spec.Components[i].Step == step && at.After(end) {
				end = at
			}
		}
	}
	return end.Sub(first)
}

// explain says in the words of the object why a component is where it is.
func explain(c rollout.ComponentState) string {
	switch {
	case c.Message != "":
		return c.Message
	case c.Status == rollout.Syncing && (c.Seen.Message == "" || c.Seen.At.Before(c.StartedAt)):
		return "applying"
	default:
		return c.Seen.Message
	}
}

// removalText says what a deletion waits for.
func removalText(c rollout.ComponentState) string {
	if c.Seen.Message == "" || c.Seen.At.Before(c.StartedAt) {
		return "deleting"
	}
	return c.Seen.Message
}

// waitingOn names what a blocked component waits for, as short as it can be.
func waitingOn(b rollout.Blocker) string {
	switch {
	case b.Root != "":
		return b.Root
	case b.Component != "":
		return b.Component
	default:
		return b.Reason
	}
}

// roots are the failed components that the reasons lead back to.
func roots(reasons []rollout.Blocker) []string {
	var names []string
	for _, r := range reasons {
		if r.Root != "" && !slices.Contains(names, r.Root) {
			names = append(names, r.Root)
		}
	}
	return names
}

// CausesFirst puts what a component waits for in the end before what it waits
// for next: a failure it leads back to, then a halt, then the rest. That the rollout has
// ended holds up everything that has not started, and tells least.
func CausesFirst(blocked []rollout.Blocker) []rollout.Blocker {
	rank := func(b rollout.Blocker) int {
		switch {
		case b.Root != "":
			return 0
		case b.Kind == rollout.OnHalt:
			return 1
		case b.Kind == rollout.OnEnd:
			return 3
		default:
			return 2
		}
	}
	sorted := slices.Clone(blocked)
	slices.SortStableFunc(sorted, func(x, y rollout.Blocker) int { return cmp.Compare(rank(x), rank(y)) })
	return sorted
}
