package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// handle applies what an event says; what follows from it is Step's business.
func (m *Machine) handle(event Event) {
	switch e := event.(type) {
	case Started:
		m.begun()
	case Recovered:
		m.recovered()
	case Tick:
	case SyncFinished:
		m.syncFinished(e)
	case RemoveFinished:
		m.removeFinished(e)
	case Observed:
		m.observed(e)
	case Pause:
		if m.state.PausedAt.IsZero() && m.state.Result == Running {
			m.state.PausedAt, m.state.PausedBy = m.now, e.By
			m.progress = true
		}
	case Resume:
		m.resumed()
	case Abort:
		m.aborted(e)
	case TimeUp:
		if m.running() {
			m.timeOut(e.After)
		}
	case Approve:
		m.approve(e)
	case Retry:
		m.retried(e)
	}
}

// approve keeps the first approval of a step, to which who gave it may add the reason.
func (m *Machine) approve(e Approve) {
	if e.Step < 0 || e.Step >= len(m.state.Spec.Steps) {
		return
	}
	k, found := slices.BinarySearchFunc(m.state.Approvals, e.Step, func(a Approval, step int) int { return a.Step - step })
	if found {
		if a := &m.state.Approvals[k]; a.Reason == "" && a.By == e.By && e.Reason != "" {
			a.Reason, m.progress = e.Reason, true
		}
		return
	}
	m.state.Approvals = slices.Insert(m.state.Approvals, k, Approval{Step: e.Step, At: m.now, By: e.By, Reason: e.Reason})
	m.progress = true
}

func (m *Machine) begun() {
	if !m.state.StartedAt.IsZero() {
		return
	}
	m.state.StartedAt = m.now
	m.state.Deadline = m.deadline(m.state.Spec.Timeout)
	m.progress = true
}

func (m *Machine) syncFinished(e SyncFinished) {
	i, ok := m.byName[e.Component]
	if !ok {
		return
	}
	c := &m.state.Components[i]
	if c.Status != Syncing || c.Attempt != e.Attempt {
		return
	}
	if e.Error != "" {
		m.fail(i, failure{message: e.Error, object: e.Object, final: e.Final})
		return
	}
	m.synced(i)
}

func (m *Machine) observed(e Observed) {
	seen := Sighting{
		At: e.At, Health: e.Health, Revision: e.Revision, Final: e.Final, Message: e.Message, Object: e.Object,
	}
	if seen.At.IsZero() {
		seen.At = m.now
	}
	i, ok := m.byName[e.Component]
	if !ok {
		m.removalSeen(e.Component, seen)
		return
	}
	c := &m.state.Components[i]
	if seen.At.Before(c.Seen.At) {
		return
	}
	same := seen
	same.At = c.Seen.At
	news := same != c.Seen || seen.Final || m.settling(i)
	c.Seen = seen
	if m.state.Result != Running || !news {
		return
	}
	switch c.Status {
	case Waiting, Done, Regressed, Unconfirmed:
		m.assess(i)
	default:
		m.touch(i)
	}
}

// recovered takes over from a process that is gone. The effects of its last
// event may or may not have been carried out.
func (m *Machine) recovered() {
	switch {
	case m.state.StartedAt.IsZero():
		m.begun()
		return
	case m.state.Result != Running:
		m.effects = append(m.effects, Finish{Result: m.state.Result, Message: m.state.Message})
		return
	}
	m.distrust(m.now.Sub(m.state.UpdatedAt))
	m.reindex()
}

// distrust takes up a rollout after a time in which nobody watched: clocks of
// timeouts stood still, and nothing counts as Healthy until it is seen again.
// The caller reindexes.
func (m *Machine) distrust(away time.Duration) {
	shift := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(away)
		}
	}
	m.progress = true
	if m.state.PausedAt.IsZero() {
		shift(&m.state.Deadline)
	}
	for i := range m.state.Components {
		c := &m.state.Components[i]
		from := c.Status
		c.Seen = Sighting{}
		m.touch(i)
		switch c.Status {
		case Syncing:
			m.begin(i)
			m.note(i, from, from, "synced again after an interruption")
		case Waiting:
			shift(&c.Deadline)
			c.DegradedAt = time.Time{}
		case Regressed, Unconfirmed:
			shift(&c.Deadline)
			shift(&c.RegressedAt)
		case Done:
			c.Status = Unconfirmed
			c.Deadline = m.deadline(m.state.Spec.Components[i].Timeout)
			m.note(i, from, c.Status, "not observed since the run was interrupted")
		default: // neither a clock nor trust
		}
	}
	m.distrustRemovals()
}

func (m *Machine) resumed() {
	switch {
	case m.state.Result == ResultAborted:
		m.reopen()
		m.reindex()
	case m.state.Result == Running && !m.state.PausedAt.IsZero():
		m.unpause()
	}
}

// unpause ends a pause; the time it took does not count against the timeout.
func (m *Machine) unpause() {
	if !m.state.Deadline.IsZero() {
		m.state.Deadline = m.state.Deadline.Add(m.now.Sub(m.state.PausedAt))
	}
	m.state.PausedAt, m.state.PausedBy = time.Time{}, ""
	m.progress = true
}

// aborted ends the rollout where it stands.
func (m *Machine) aborted(e Abort) {
	if m.state.Result != Running {
		return
	}
	message := "the rollout was aborted"
	if e.By != "" {
		message += " by " + e.By
	}
	m.stop(Aborted, message)
	m.finish(ResultAborted, message)
}

// timeOut ends the rollout because its own time is up.
func (m *Machine) timeOut(after time.Duration) {
	message := fmt.Sprintf("the rollout timed out after %s", finding.Limit(after))
	m.stop(TimedOut, message)
	if failures := m.failures(); failures != "" {
		message += "; " + failures
	}
	m.finish(ResultTimedOut, message)
}

// stop gives everything under way its last status. What waits for its next
// attempt keeps the message of the one that failed.
func (m *Machine) stop(status Status, message string) {
	for i := range m.state.Components {
		c := &m.state.Components[i]
		switch c.Status {
		case Syncing:
			m.effects = append(m.effects, Cancel{Component: c.Name, Attempt: c.Attempt})
		case Waiting, Retrying:
		default:
			continue
		}
		c.Message = joinMessage(message, c.standing())
		c.EndedAt, c.Deadline = m.now, time.Time{}
		m.move(i, status, c.Message)
		m.arm(i)
	}
	m.stopRemovals(status, message)
}

// standing says what a component in flight waits for, and what its last attempt
// failed at.
func (c *ComponentState) standing() string {
	what := c.Message
	if seen, ok := c.seenInAttempt(); ok && what == "" {
		what = seen.Message
	}
	if c.LastFailure == "" || c.Status == Retrying { // then it is the message
		return what
	}
	last := "last failure: " + c.LastFailure
	if what == "" {
		return last
	}
	return what + "; " + last
}

// reopen takes up a rollout that has ended; the caller reindexes. What was
// applied when it was aborted waits for its health, the rest starts again when
// its gates open.
func (m *Machine) reopen() {
	m.state.Result, m.state.Message, m.state.FinishedAt = Running, "", time.Time{}
	m.state.PausedAt, m.state.PausedBy = time.Time{}, ""
	m.distrust(0)
	m.state.Deadline = m.deadline(m.state.Spec.Timeout)
	for i := range m.state.Components {
		c := &m.state.Components[i]
		switch c.Status {
		case Aborted:
		case Regressed:
			c.RegressedAt, c.Deadline = m.now, m.patience(i)
			continue
		default:
			continue
		}
		inFlight := c.RetryAt.IsZero() // else its last attempt had failed
		c.EndedAt, c.RetryAt = time.Time{}, time.Time{}
		c.Status = Blocked
		if inFlight && !c.SyncedAt.IsZero() {
			c.Status = Waiting
			c.Deadline = m.deadline(m.state.Spec.Components[i].Timeout)
		}
		m.note(i, Aborted, c.Status, "the rollout was taken up again")
	}
	m.reopenRemovals()
}

// retried gives failed components a fresh start.
func (m *Machine) retried(e Retry) {
	var again []int
	for i := range m.state.Components {
		c := &m.state.Components[i]
		switch {
		case e.Component != "" && e.Component != c.Name:
		case c.Status.Bad(), c.Status == Aborted, c.Status == Retrying && e.Component != "":
			again = append(again, i)
		}
	}
	removals := m.removalsToRetry(e.Component)
	if len(again)+len(removals) == 0 {
		return
	}
	if m.state.Result != Running {
		m.reopen()
	}
	for _, i := range again {
		c := &m.state.Components[i]
		if c.Status == Waiting { // was aborted, and is applied
			continue
		}
		from := c.Status
		c.Status, c.Failures, c.Timeouts = Blocked, 0, 0
		c.EndedAt, c.RetryAt, c.Deadline = time.Time{}, time.Time{}, time.Time{}
		c.Message, c.LastFailure = "", ""
		if from != Blocked {
			m.note(i, from, Blocked, "retried by hand")
		}
	}
	for _, i := range removals {
		m.retryRemoval(i)
	}
	m.reindex()
}
