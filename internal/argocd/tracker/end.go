package tracker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Ended reports whether there is nothing left to wait for.
func (f *Follower) Ended() bool { return f.state.Result != rollout.Running }

// Result is how it ended; rollout.Running while it has not.
func (f *Follower) Result() rollout.Result { return f.state.Result }

// conclude ends the rollout when there is nothing left to wait for. A component
// that failed ends it, as soon as what was in flight at that moment is settled:
// Argo CD itself knows no timeouts, and may go on.
func (f *Follower) conclude(now time.Time) {
	done, moving := 0, 0
	for _, c := range f.state.Components {
		switch {
		case c.Status == rollout.Done:
			done++
		case isFlying(c.Status) && !f.options.Spanning[c.Name]:
			moving++
		}
	}
	switch {
	case done == len(f.state.Components):
		f.end(rollout.Succeeded, "", now)
	case !f.state.Deadline.IsZero() && !now.Before(f.state.Deadline):
		f.end(rollout.ResultTimedOut, "the rollout took longer than "+f.state.Spec.Timeout.String(), now)
	case !f.badAt.IsZero():
		if now.Sub(f.badAt) >= f.options.Quiet && !f.isSettling() {
			f.end(rollout.ResultFailed, "a component failed", now)
		}
	case moving == 0 && now.Sub(f.moved) >= f.patience():
		f.blame(now)
	}
}

// isSettling reports whether something that was in flight at the first failure
// still is.
func (f *Follower) isSettling() bool {
	return slices.ContainsFunc(f.flying, func(i int) bool { return isFlying(f.state.Components[i].Status) })
}

// parentFactor is how many times longer nothing may move while the sync of a
// parent waits for its retry: its backoff is in real time.
const parentFactor = 4

// patience is how long nothing may move now.
func (f *Follower) patience() time.Duration {
	for _, p := range f.options.Parents {
		if f.fleet != nil && f.fleet.Judge(p).Code == status.RetryWaits {
			return parentFactor * f.options.Patience
		}
	}
	return f.options.Patience
}

func (f *Follower) end(result rollout.Result, message string, now time.Time) {
	f.state.Result, f.state.Message, f.state.FinishedAt, f.state.UpdatedAt = result, message, now, now
}

// Abort ends the rollout because somebody wants it.
func (f *Follower) Abort(now time.Time) {
	if f.Ended() {
		return
	}
	for i := range f.state.Components {
		if c := &f.state.Components[i]; c.Status != rollout.Blocked && c.Status != rollout.Done && !c.Status.Bad() {
			c.EndedAt = now
			f.move(c, rollout.Aborted, "aborted", now)
		}
	}
	f.end(rollout.ResultAborted, "aborted", now)
}

// blame fails what nothing of an earlier step keeps from starting, and that has
// not started.
func (f *Follower) blame(now time.Time) {
	first := -1
	for i, c := range f.state.Components {
		if at := f.state.Spec.Components[i].Step; c.Status == rollout.Blocked && !f.options.Spanning[c.Name] && (first < 0 || at < first) {
			first = at
		}
	}
	if first < 0 { // only what spans others is left
		for i := range f.state.Components {
			if c := &f.state.Components[i]; c.Status != rollout.Done {
				f.fail(c, rollout.Failed, cmp.Or(c.Message, "it does not become Healthy"), now)
			}
		}
		return
	}
	why := f.aboveWhy()
	for i := range f.state.Components {
		c := &f.state.Components[i]
		if c.Status != rollout.Blocked || f.state.Spec.Components[i].Step != first {
			continue
		}
		reason := cmp.Or(f.waitsFor(c.Name), c.Message, "the Application does not exist")
		if why != "" && (c.Seen.Health == "" || c.Seen.Health == rollout.Missing) {
			reason = why
		}
		f.fail(c, rollout.Failed, "Argo CD does not start it: "+reason, now)
	}
}

// waitsFor says what RollingSync makes a component wait for, the root cause first;
// empty where it waits for nothing else.
func (f *Follower) waitsFor(name string) string {
	causes := status.Explain(f.fleet, f.options.Applications[name])
	if len(causes) < 2 {
		return ""
	}
	var all []string
	for _, c := range causes[:len(causes)-1] {
		all = append(all, c.String())
	}
	return causes[len(causes)-1].Message + "; " + strings.Join(all, "; ")
}

// aboveWhy says what is wrong with the Applications that apply others.
func (f *Follower) aboveWhy() string {
	var all []string
	for _, p := range f.options.Parents {
		for _, c := range status.Explain(f.fleet, p) {
			all = append(all, c.String())
		}
	}
	return strings.Join(slices.Compact(all), "; ")
}

// State is the rollout as it is now.
func (f *Follower) State() rollout.State {
	state := f.state
	state.Components = slices.Clone(f.state.Components)
	return state
}

// Transitions are all so far.
func (f *Follower) Transitions() []rollout.Transition { return slices.Clone(f.transitions) }

// Component is one component as it is now.
func (f *Follower) Component(name string) (rollout.ComponentState, bool) {
	i, ok := f.byName[name]
	if !ok {
		return rollout.ComponentState{}, false
	}
	return f.state.Components[i], true
}

// BlockedBy says what a component waits for.
func (f *Follower) BlockedBy(name string) []rollout.Blocker {
	i, ok := f.byName[name]
	if !ok {
		return nil
	}
	c := f.state.Components[i]
	switch {
	case c.Status == rollout.Done:
		return nil
	case c.Status != rollout.Blocked:
		return []rollout.Blocker{{Kind: rollout.OnHealth, Component: name, Reason: describe(c), Until: c.Deadline}}
	}
	var found []rollout.Blocker
	for _, before := range f.unhealthyBefore(i) {
		b := f.state.Components[f.byName[before]]
		found = append(found, rollout.Blocker{Kind: rollout.OnStep, Component: before, Reason: describe(b)})
	}
	if len(found) == 0 {
		found = append(found, rollout.Blocker{Kind: rollout.OnStart, Reason: cmp.Or(c.Message, "Argo CD has not started it")})
	}
	return found
}

// Blocked says it for every component that is not Healthy.
func (f *Follower) Blocked() map[string][]rollout.Blocker {
	all := map[string][]rollout.Blocker{}
	for _, c := range f.state.Components {
		if found := f.BlockedBy(c.Name); len(found) > 0 {
			all[c.Name] = found
		}
	}
	return all
}

// describe words the status of a component that another one waits for.
func describe(c rollout.ComponentState) string {
	text := map[rollout.Status]string{
		rollout.Blocked: "has not started", rollout.Syncing: "is being applied", rollout.Waiting: "is applied and not Healthy yet",
		rollout.Retrying: "failed and is tried again", rollout.Regressed: "is not Healthy any more", rollout.Failed: "failed",
		rollout.TimedOut: "timed out", rollout.Aborted: "was aborted",
	}[c.Status]
	if c.Message != "" && c.Status != rollout.Blocked {
		text += ": " + c.Message
	}
	return text
}
