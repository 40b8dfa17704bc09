package rollout

import (
	"fmt"
	"strings"
	"time"
)

// halted reports whether the failure policy lets nothing start any more.
func (m *Machine) halted() bool {
	return m.state.Spec.OnFailure == Halt && m.bad() > 0
}

// bad counts what has failed for good.
func (m *Machine) bad() int { return m.count[Failed] + m.count[TimedOut] + m.badRemovals }

// allHealthy reports whether every component is Healthy at this moment.
func (m *Machine) allHealthy() bool { return m.count[Done] == len(m.state.Components) }

// approved reports whether a step may start as far as approvals go.
func (m *Machine) approved(step int) bool {
	if !m.state.Spec.Steps[step].held() {
		return true
	}
	return m.state.Approved(step)
}

// full reports whether a step has as many components in flight as it may.
func (m *Machine) full(step int) bool {
	limit := m.state.Spec.Steps[step].Limit
	return limit > 0 && m.stepInFlight[step] >= limit
}

// room reports whether the global cap allows one more component.
func (m *Machine) room() bool {
	limit := m.state.Spec.MaxInFlight
	if m.state.Spec.Policy == Serial {
		limit = 1
	}
	return limit <= 0 || m.inFlight+m.removing < limit
}

// startable reports whether a component waits to start and everything it
// requires is Healthy; steps, limits and approvals aside.
func (m *Machine) startable(i int) bool {
	c := &m.state.Components[i]
	switch c.Status {
	case Blocked:
	case Retrying:
		if m.now.Before(c.RetryAt) {
			return false
		}
	default:
		return false
	}
	return m.unmet[i] == 0
}

// offer puts a component into its queue if it is startable. Queues are cleaned
// when something is taken from them, not when a gate closes.
func (m *Machine) offer(i int) {
	if m.startable(i) {
		m.ready.push(int32(i))
	}
}

// schedule starts what may start, greatest rank first.
func (m *Machine) schedule() {
	if !m.state.PausedAt.IsZero() || m.halted() {
		return
	}
	for m.room() {
		best := -1
		m.ready.open(m.settled, func(k int) {
			q := &m.ready.list[k]
			if q.step >= 0 && (m.full(q.step) || !m.approved(q.step)) {
				return
			}
			for len(q.heap) > 0 && !m.startable(int(q.heap[0])) {
				m.ready.pop(k)
			}
			if len(q.heap) == 0 {
				return
			}
			if best < 0 || m.ready.ahead(q.heap[0], m.ready.list[best].heap[0]) {
				best = k
			}
		})
		if best < 0 {
			return
		}
		i := int(m.ready.list[best].heap[0])
		m.ready.pop(best)
		m.start(i)
	}
}

// expire lets everything happen that is due.
func (m *Machine) expire() {
	deadline := m.state.Deadline
	if !deadline.IsZero() && m.state.PausedAt.IsZero() && !m.now.Before(deadline) {
		// The last moment counts: a rollout that is done has succeeded.
		if !m.allHealthy() || m.leftToRemove > 0 {
			m.timeOut(m.state.Spec.Timeout)
			return
		}
	}
	for {
		i, due, ok := m.timers.next()
		if !ok || m.now.Before(due) {
			break
		}
		c, spec := &m.state.Components[i], &m.state.Spec.Components[i]
		switch {
		case c.Status == Retrying:
			m.timers.set(i, time.Time{})
			m.offer(i)
		case !c.Deadline.IsZero() && !m.now.Before(c.Deadline):
			m.fail(i, failure{message: m.timeoutMessage(i), object: c.culprit(), timeout: true})
		case due.Equal(m.graceEnd(i)):
			m.fail(i, failure{
				message: fmt.Sprintf("Degraded for longer than %s: %s", spec.DegradedGrace, c.Message),
				object:  c.Object,
			})
		default:
			m.assess(i) // it has settled
		}
	}
	m.expireRemovals()
}

// arm sets the timer of a component to what is due next for it.
func (m *Machine) arm(i int) {
	c := &m.state.Components[i]
	var due time.Time
	switch c.Status {
	case Retrying:
		if m.now.Before(c.RetryAt) {
			due = c.RetryAt
		}
	case Syncing, Waiting, Regressed, Unconfirmed:
		due = c.Deadline
		if grace := m.graceEnd(i); !grace.IsZero() {
			due = earlier(due, grace)
		}
		if m.settling(i) {
			due = earlier(due, c.SyncedAt.Add(settle))
		}
	default: // nothing is due for the others
	}
	m.timers.set(i, due)
}

// graceEnd is when a component has been Degraded for too long; zero for one that
// is not, or has no grace.
func (m *Machine) graceEnd(i int) time.Time {
	c, grace := &m.state.Components[i], m.state.Spec.Components[i].DegradedGrace
	if c.Status != Waiting || grace <= 0 || c.DegradedAt.IsZero() {
		return time.Time{}
	}
	return c.DegradedAt.Add(grace)
}

// earlier is the earlier of two times, of which a may be zero for never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// conclude ends the rollout when everything is Healthy and nothing is left to
// remove, or when nothing is under way and nothing can ever start.
func (m *Machine) conclude() {
	if m.allHealthy() && m.leftToRemove == 0 {
		m.finish(Succeeded, "")
		return
	}
	if m.inFlight+m.removing > 0 || m.bad() == 0 {
		return
	}
	if !m.halted() {
		alive := m.count[Blocked] - m.deadCount
		if alive+m.count[Retrying]+m.count[Regressed]+m.count[Unconfirmed] > 0 {
			return
		}
		if m.allHealthy() && m.removalsCanGoOn() {
			return
		}
	}
	// A component that stays may have failed since their attempt did.
	m.stopRemovalRetries("; not retried: the rollout failed")
	m.finish(ResultFailed, m.failures())
}

// failures says in one line what failed, the components in order, three of them.
func (m *Machine) failures() string {
	const most = 3
	var parts []string
	for _, list := range [][]ComponentState{m.state.Components, m.state.Removals} {
		for _, c := range list {
			if c.Status.Bad() && len(parts) < most {
				parts = append(parts, c.Name+": "+c.Message)
			}
		}
	}
	if bad := m.bad(); bad > most {
		parts = append(parts, fmt.Sprintf("and %d more", bad-most))
	}
	return strings.Join(parts, "; ")
}

// finish ends the rollout.
func (m *Machine) finish(result Result, message string) {
	m.state.Result, m.state.Message, m.state.FinishedAt = result, message, m.now
	m.progress = true
	m.effects = append(m.effects, Finish{Result: result, Message: message})
}
