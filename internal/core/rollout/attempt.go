package rollout

import (
	"fmt"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// deadline is when something that may take as long as timeout, from now, is due;
// zero for no timeout.
func (m *Machine) deadline(timeout time.Duration) time.Time {
	if timeout <= 0 {
		return time.Time{}
	}
	return m.now.Add(timeout)
}

// start begins the next attempt of a component.
func (m *Machine) start(i int) {
	c := &m.state.Components[i]
	reason := m.opened(i)
	if c.Status == Retrying {
		reason = fmt.Sprintf("attempt %d", c.Attempt+1)
	}
	c.UnblockedAt = m.openedAt(i)
	m.begin(i)
	m.move(i, Syncing, reason)
	m.arm(i)
}

// opened says why a component may start. Under Phases and Serial the order decides that, which
// need not keep every requirement.
func (m *Machine) opened(i int) string {
	switch {
	case m.after[i] > 0 && m.bad() > 0: // under Continue
		return "nothing before it in the order is under way"
	case m.state.Spec.Policy == Edges:
		return "everything it waits for is Healthy"
	default:
		return "everything before it in the order is Healthy"
	}
}

// begin resets what belongs to one attempt and asks for its sync.
func (m *Machine) begin(i int) {
	c := &m.state.Components[i]
	c.Attempt++
	c.Reapplied = c.Attempt > 1 || c.Seen.At.IsZero() || c.Seen.Revision == m.state.Spec.Revision
	c.StartedAt, c.SyncedAt = m.now, time.Time{}
	c.Deadline = m.deadline(m.state.Spec.Components[i].Timeout)
	c.RetryAt, c.EndedAt, c.DegradedAt, c.RegressedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	c.RegressedFor = 0
	c.Message, c.Object = "", finding.Resource{}
	m.effects = append(m.effects, Sync{Component: c.Name, Attempt: c.Attempt})
}

// synced notes that an attempt has applied everything. What was seen meanwhile
// counts: an engine reports changes only.
func (m *Machine) synced(i int) {
	c := &m.state.Components[i]
	c.SyncedAt = m.now
	m.move(i, Waiting, "applied")
	m.assess(i)
}

// assess draws the conclusions from the last observation of a component that has
// been applied.
func (m *Machine) assess(i int) {
	c := &m.state.Components[i]
	seen := c.Seen
	fresh := seen.Revision == m.state.Spec.Revision && seen.Health != ""
	switch {
	case m.settling(i):
	case fresh && seen.Health == Healthy:
		if c.Status == Regressed {
			c.RegressedFor += m.now.Sub(c.RegressedAt)
		}
		c.HealthyAt, c.LastFailure = m.now, ""
		c.Deadline, c.DegradedAt, c.RegressedAt = time.Time{}, time.Time{}, time.Time{}
		c.Message, c.Object = seen.Message, seen.Object
		m.move(i, Done, "Healthy at the revision")
	case c.Status == Waiting:
		c.Message, c.Object = seen.Message, seen.Object
		if !fresh || seen.Health != Degraded {
			c.DegradedAt = time.Time{}
		} else if c.DegradedAt.IsZero() {
			c.DegradedAt = m.now
		}
		m.touch(i)
	default: // Done, Regressed, Unconfirmed
		c.Message, c.Object = seen.Message, seen.Object
		reason := string(seen.Health)
		if !fresh {
			reason = fmt.Sprintf("seen at revision %q", seen.Revision)
			c.Message = joinMessage(reason+", not "+m.state.Spec.Revision, seen.Message)
		}
		if c.Status != Regressed {
			c.RegressedAt = m.now
			c.Deadline = m.patience(i)
			m.move(i, Regressed, joinMessage(reason, seen.Message))
		}
		m.touch(i)
	}
	if c.Status != Done && fresh && seen.Final && !m.settling(i) {
		m.fail(i, failure{message: joinMessage(string(seen.Health), seen.Message), object: seen.Object})
		return
	}
	m.arm(i)
}

// settle is how long a component that is applied again waits for news. Its
// revision was there before, so what was seen before the end of the sync may be
// about to change; and where nothing changes, nothing new is reported.
const settle = time.Second

// settling reports whether a component waits for news, or for settle to pass.
func (m *Machine) settling(i int) bool {
	c := &m.state.Components[i]
	return c.Status == Waiting && c.Reapplied && c.Seen.At.Before(c.SyncedAt) &&
		(c.Seen.Health == Healthy || c.Seen.Final) && m.now.Before(c.SyncedAt.Add(settle))
}

// patience is when an unhealthy component that was Healthy times out: what it
// was unhealthy before in this attempt counts, so that one that flaps for ever
// does not hold the rollout for ever.
func (m *Machine) patience(i int) time.Time {
	timeout := m.state.Spec.Components[i].Timeout
	if timeout <= 0 {
		return time.Time{}
	}
	return m.now.Add(max(timeout-m.state.Components[i].RegressedFor, 0))
}

// failure is why an attempt failed.
type failure struct {
	message string
	object  finding.Resource
	final   bool // a retry does not help
	timeout bool
}

// fail ends the attempt of a component that is in flight, or that was Healthy
// and is not any more. It is retried if it may be.
func (m *Machine) fail(i int, f failure) {
	c, spec := &m.state.Components[i], &m.state.Spec.Components[i]
	if c.Status == Syncing && f.timeout {
		m.effects = append(m.effects, Cancel{Component: c.Name, Attempt: c.Attempt})
	}
	switch {
	case c.attemptFailed(f, spec.Retry):
	case m.halted():
		c.Message += notRetried
	default:
		if lost, ok := m.lostRequirement(i); ok {
			c.Message += "; not retried: " + lost + ", which it requires, failed"
			break
		}
		c.RetryAt = m.now.Add(spec.Retry.backoff(c.Failures))
		m.move(i, Retrying, f.message)
		m.arm(i)
		m.offer(i)
		return
	}
	m.end(i, f.status(), c.Message)
}

// attemptFailed notes a failure. final is set if no other attempt may follow.
func (c *ComponentState) attemptFailed(f failure, retry RetrySpec) (final bool) {
	c.Failures++
	if f.timeout {
		c.Timeouts++
	}
	c.Message, c.Object, c.LastFailure = f.message, f.object, f.message
	c.Deadline, c.DegradedAt, c.RegressedAt = time.Time{}, time.Time{}, time.Time{}
	return f.final || retry.Limit >= 0 && c.Failures > retry.Limit ||
		f.timeout && retry.MaxTimeouts > 0 && c.Timeouts >= retry.MaxTimeouts
}

func (f failure) status() Status {
	if f.timeout {
		return TimedOut
	}
	return Failed
}

const notRetried = "; not retried: the rollout halted"

// end gives a component its last status and stops what hangs on it.
func (m *Machine) end(i int, status Status, reason string) {
	c := &m.state.Components[i]
	c.EndedAt, c.Deadline, c.RetryAt = m.now, time.Time{}, time.Time{}
	m.move(i, status, reason)
	m.arm(i)
	if m.halted() {
		m.stopRetries()
	}
	m.bury(i)
}

// stopRetries fails what waits for its next attempt when the rollout halts.
func (m *Machine) stopRetries() {
	m.stopRemovalRetries(notRetried)
	if m.count[Retrying] == 0 {
		return
	}
	for i := range m.state.Components {
		c := &m.state.Components[i]
		if c.Status != Retrying {
			continue
		}
		c.Message += notRetried
		c.EndedAt, c.RetryAt = m.now, time.Time{}
		m.move(i, Failed, c.Message)
		m.arm(i)
		m.bury(i)
	}
}

// bury marks everything that waits for a failed component as dead. What waits
// for its next attempt fails with it.
func (m *Machine) bury(failed int) {
	stack := []int{failed}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, j := range m.graph.Dependants(i) {
			d := int(j)
			c := &m.state.Components[d]
			switch {
			case c.Status == Blocked && !m.dead[d]:
				was := m.isSettled(d)
				m.dead[d] = true
				m.deadCount++
				m.resettle(d, was)
				stack = append(stack, d)
			case c.Status == Retrying:
				c.Message += "; not retried: " + m.state.Components[i].Name + ", which it requires, failed"
				c.EndedAt, c.RetryAt = m.now, time.Time{}
				m.move(d, Failed, c.Message)
				m.arm(d)
				stack = append(stack, d)
			}
		}
	}
}

// lostRequirement names a requirement that can never be Healthy any more.
func (m *Machine) lostRequirement(i int) (name string, ok bool) {
	for _, j := range m.graph.Requires(i) {
		if c := &m.state.Components[j]; c.Status.Bad() || m.dead[j] {
			return c.Name, true
		}
	}
	return "", false
}

// timeoutMessage says what a component waited for when its time was up.
func (m *Machine) timeoutMessage(i int) string {
	c, timeout := &m.state.Components[i], m.state.Spec.Components[i].Timeout
	var what string
	switch c.Status {
	case Syncing:
		what = fmt.Sprintf("timed out after %s while it was being applied", finding.Limit(timeout))
		if seen, ok := c.seenInAttempt(); ok {
			return joinMessage(what, seen.Message)
		}
	case Regressed:
		what = fmt.Sprintf("timed out after %s unhealthy since it was Healthy", finding.Limit(timeout))
	case Unconfirmed:
		what = fmt.Sprintf("timed out after %s without an observation since the run was interrupted", finding.Limit(timeout))
	default:
		what = fmt.Sprintf("timed out after %s waiting for its health", finding.Limit(timeout))
		if c.Object.Name != "" {
			what = fmt.Sprintf("timed out after %s waiting for %s", finding.Limit(timeout), c.Object.Human())
		}
		if c.Seen.Health == "" {
			return what + ": it was never observed"
		}
		if c.Seen.Revision != m.state.Spec.Revision {
			what += fmt.Sprintf(" (seen at revision %q)", c.Seen.Revision)
		}
		if c.Message == "" {
			return what + ": " + string(c.Seen.Health)
		}
	}
	return joinMessage(what, c.Message)
}

// seenInAttempt is what was observed since the attempt began: it explains what a
// sync that has not returned waits for.
func (c *ComponentState) seenInAttempt() (Sighting, bool) {
	return c.Seen, c.Seen.Message != "" && !c.Seen.At.Before(c.StartedAt)
}

// culprit is the object that explains why the component is not Healthy.
func (c *ComponentState) culprit() finding.Resource {
	if seen, ok := c.seenInAttempt(); ok && c.Object.Kind == "" {
		return seen.Object
	}
	return c.Object
}

func joinMessage(what, message string) string {
	if message == "" {
		return what
	}
	return what + ": " + message
}
