package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// removals is what the machine knows about Spec.Remove besides the state.
type removals struct {
	removalByName map[string]int
	// removalDependants are, by removal, those that required it.
	removalDependants [][]int
	removalIndex
	touchedRemovals touched
}

// removalIndex can be derived from the state; see reindexRemovals.
type removalIndex struct {
	leftToRemove  int // not Removed yet
	removing      int // in flight
	badRemovals   int
	removalTimers timers
}

// removalStatuses are those that a removal may have in a State.
var removalStatuses = []Status{Blocked, Removing, Retrying, Removed, Failed, TimedOut, Aborted}

// wireRemovals checks what is to be removed and builds what never changes.
func (m *Machine) wireRemovals() error {
	spec := m.state.Spec.Remove
	m.removalByName = make(map[string]int, len(spec))
	m.removalDependants = make([][]int, len(spec))
	m.touchedRemovals.has = make([]bool, len(spec))
	for i, r := range spec {
		_, twice := m.removalByName[r.Name]
		_, stays := m.byName[r.Name]
		if twice || stays || r.Name == "" {
			return fmt.Errorf("component to be removed %q has no name, is there twice, or is part of the rollout", r.Name)
		}
		m.removalByName[r.Name] = i
		for _, name := range r.Requires {
			j, ok := m.removalByName[name]
			if !ok || j == i {
				return fmt.Errorf("component to be removed %s requires %q, which does not stand before it", r.Name, name)
			}
			m.removalDependants[j] = append(m.removalDependants[j], i)
		}
	}
	if len(m.state.Removals) != len(spec) {
		return fmt.Errorf("rollout state has %d components to be removed, its spec %d", len(m.state.Removals), len(spec))
	}
	for i, c := range m.state.Removals {
		if c.Name != spec[i].Name {
			return fmt.Errorf("rollout state removes %q where its spec has %q", c.Name, spec[i].Name)
		}
		if !slices.Contains(removalStatuses, c.Status) {
			return fmt.Errorf("rollout state has component to be removed %s in the unknown state %q", c.Name, c.Status)
		}
	}
	return nil
}

func (m *Machine) reindexRemovals() {
	m.removalIndex = removalIndex{removalTimers: newTimers(len(m.state.Removals))}
	for i, c := range m.state.Removals {
		m.countRemoval(c.Status, 1)
		m.armRemoval(i)
	}
}

func (m *Machine) countRemoval(s Status, by int) {
	if s != Removed {
		m.leftToRemove += by
	}
	if s == Removing {
		m.removing += by
	}
	if s.Bad() {
		m.badRemovals += by
	}
}

// scheduleRemovals starts the deletions that may start, what was applied last
// first. A component goes when everything that required it is gone; where either
// side's requirements are not known, when everything applied after it is.
func (m *Machine) scheduleRemovals() {
	if m.leftToRemove == 0 || !m.allHealthy() || m.halted() || !m.state.PausedAt.IsZero() {
		return
	}
	later := false // something applied later is not gone
	for i := len(m.state.Removals) - 1; i >= 0; i-- {
		c, known := &m.state.Removals[i], m.state.Spec.Remove[i].EdgesKnown
		if c.Status == Removed {
			continue
		}
		if m.removalDue(c) && (known || !later) && m.dependantsGone(i) {
			if !m.room() {
				return
			}
			m.beginRemoval(i)
			m.moveRemoval(i, Removing, "everything is Healthy, and what came after it is gone")
		}
		if !known {
			return // it comes before everything that was applied earlier
		}
		later = true
	}
}

// removalDue reports whether a removal waits to start as far as its own clock
// goes.
func (m *Machine) removalDue(c *ComponentState) bool {
	return c.Status == Blocked || c.Status == Retrying && !m.now.Before(c.RetryAt)
}

func (m *Machine) dependantsGone(i int) bool {
	for _, j := range m.removalDependants[i] {
		if m.state.Removals[j].Status != Removed {
			return false
		}
	}
	return true
}

// beginRemoval resets what belongs to one attempt and asks for it.
func (m *Machine) beginRemoval(i int) {
	c := &m.state.Removals[i]
	c.Attempt++
	c.StartedAt, c.Deadline = m.now, m.deadline(m.state.Spec.Remove[i].Timeout)
	c.RetryAt, c.EndedAt = time.Time{}, time.Time{}
	c.Message, c.Object = "", finding.Resource{}
	m.effects = append(m.effects, Remove{Component: c.Name, Attempt: c.Attempt})
}

// moveRemoval gives a removal another status, with everything that hangs on it.
func (m *Machine) moveRemoval(i int, to Status, reason string) {
	c := &m.state.Removals[i]
	m.countRemoval(c.Status, -1)
	m.countRemoval(to, 1)
	from := c.Status
	c.Status = to
	m.noteRemoval(i, from, to, reason)
	m.armRemoval(i)
}

func (m *Machine) noteRemoval(i int, from, to Status, reason string) {
	m.touchedRemovals.add(i)
	m.record(m.state.Removals[i].Name, from, to, reason)
}

func (m *Machine) removal(name string) (c ComponentState, ok bool) {
	i, ok := m.removalByName[name]
	if !ok {
		return ComponentState{}, false
	}
	return m.state.Removals[i], true
}

// removeFinished takes the end of an attempt: the component is gone, or not.
func (m *Machine) removeFinished(e RemoveFinished) {
	i, ok := m.removalByName[e.Component]
	if !ok {
		return
	}
	c := &m.state.Removals[i]
	if c.Status != Removing || c.Attempt != e.Attempt {
		return
	}
	if e.Error != "" {
		m.failRemoval(i, failure{message: e.Error, object: e.Object, final: e.Final})
		return
	}
	c.EndedAt, c.Deadline = m.now, time.Time{}
	c.Message, c.LastFailure = leftMessage(e.Left), ""
	m.moveRemoval(i, Removed, joinMessage("everything of it is gone", c.Message))
}

// leftMessage names what a removal left in the cluster.
func leftMessage(left []finding.Resource) string {
	if len(left) == 0 {
		return ""
	}
	message := "left in the cluster, as they ask for it"
	for i, r := range left {
		if i == namedAtMost {
			return message + fmt.Sprintf(" and %d more", len(left)-i)
		}
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		message += sep + r.Human()
	}
	return message
}

// removalSeen notes what a deletion waits for.
func (m *Machine) removalSeen(name string, seen Sighting) {
	i, ok := m.removalByName[name]
	if !ok {
		return
	}
	c := &m.state.Removals[i]
	if seen.At.Before(c.Seen.At) {
		return
	}
	same := seen
	same.At = c.Seen.At
	news := same != c.Seen
	c.Seen = seen
	if news && m.state.Result == Running {
		m.touchedRemovals.add(i)
	}
}

// failRemoval ends an attempt. It is made again if it may be.
func (m *Machine) failRemoval(i int, f failure) {
	c, spec := &m.state.Removals[i], &m.state.Spec.Remove[i]
	if f.timeout {
		m.effects = append(m.effects, Cancel{Component: c.Name, Attempt: c.Attempt})
	}
	switch {
	case c.attemptFailed(f, spec.Retry):
	case m.halted():
		c.Message += notRetried
	default:
		c.RetryAt = m.now.Add(spec.Retry.backoff(c.Failures))
		m.moveRemoval(i, Retrying, f.message)
		return
	}
	c.EndedAt = m.now
	m.moveRemoval(i, f.status(), c.Message)
	if m.halted() {
		m.stopRetries()
	}
}

// stopRemovalRetries fails what waits for its next attempt in a rollout that
// halts or has failed, and says so.
func (m *Machine) stopRemovalRetries(why string) {
	for i := range m.state.Removals {
		c := &m.state.Removals[i]
		if c.Status != Retrying {
			continue
		}
		c.Message += why
		c.EndedAt, c.RetryAt = m.now, time.Time{}
		m.moveRemoval(i, Failed, c.Message)
	}
}

// armRemoval sets the timer of a removal to what is due next for it.
func (m *Machine) armRemoval(i int) {
	c := &m.state.Removals[i]
	var due time.Time
	switch c.Status {
	case Removing:
		due = c.Deadline
	case Retrying:
		if m.now.Before(c.RetryAt) {
			due = c.RetryAt
		}
	default: // nothing is due for the others
	}
	m.removalTimers.set(i, due)
}

// expireRemovals lets everything happen that is due for removals.
func (m *Machine) expireRemovals() {
	for {
		i, due, ok := m.removalTimers.next()
		if !ok || m.now.Before(due) {
			return
		}
		c := &m.state.Removals[i]
		if c.Status == Retrying {
			m.removalTimers.set(i, time.Time{}) // scheduleRemovals finds it
			continue
		}
		f := failure{
			message: fmt.Sprintf("timed out after %s while it was being deleted", finding.Limit(m.state.Spec.Remove[i].Timeout)),
			timeout: true,
		}
		if seen, ok := c.seenInAttempt(); ok {
			f.message, f.object = joinMessage(f.message, seen.Message), seen.Object
		}
		m.failRemoval(i, f)
	}
}

// removalsCanGoOn reports whether some removal does not wait, in the end, for
// one that has failed. Nothing is in flight.
func (m *Machine) removalsCanGoOn() bool {
	stuck := make([]bool, len(m.state.Removals))
	later := false
	for i := len(stuck) - 1; i >= 0; i-- {
		c, known := &m.state.Removals[i], m.state.Spec.Remove[i].EdgesKnown
		if c.Status == Removed {
			continue
		}
		stuck[i] = c.Status.Bad() || later && !known
		for _, j := range m.removalDependants[i] {
			stuck[i] = stuck[i] || stuck[j]
		}
		if !stuck[i] {
			return true
		}
		if !known {
			return false // everything that was applied earlier waits for it
		}
		later = true
	}
	return false
}

// distrustRemovals takes up the deletions that were going on when their process
// went away. What was gone stays gone: it is observed by its end alone.
func (m *Machine) distrustRemovals() {
	for i := range m.state.Removals {
		c := &m.state.Removals[i]
		if c.Seen != (Sighting{}) {
			c.Seen = Sighting{}
			m.touchedRemovals.add(i)
		}
		if c.Status == Removing {
			m.beginRemoval(i)
			m.noteRemoval(i, Removing, Removing, "deleted again after an interruption")
		}
	}
}

// stopRemovals gives every deletion under way its last status.
func (m *Machine) stopRemovals(status Status, message string) {
	for i := range m.state.Removals {
		c := &m.state.Removals[i]
		switch c.Status {
		case Removing:
			m.effects = append(m.effects, Cancel{Component: c.Name, Attempt: c.Attempt})
			c.Message = joinMessage(message+" while it was being deleted, and part of it may be gone", c.standing())
			if seen, ok := c.seenInAttempt(); ok {
				c.Object = seen.Object
			}
		case Retrying:
			c.Message = joinMessage(message, c.Message)
		default:
			continue
		}
		c.EndedAt, c.Deadline, c.RetryAt = m.now, time.Time{}, time.Time{}
		m.moveRemoval(i, status, c.Message)
	}
}

// reopenRemovals takes up the removals of a rollout that was aborted; the caller
// reindexes.
func (m *Machine) reopenRemovals() {
	for i := range m.state.Removals {
		if c := &m.state.Removals[i]; c.Status == Aborted {
			c.Status, c.EndedAt = Blocked, time.Time{}
			m.noteRemoval(i, Aborted, Blocked, "the rollout was taken up again")
		}
	}
}

// removalsToRetry are those that a Retry is about.
func (m *Machine) removalsToRetry(name string) []int {
	var again []int
	for i, c := range m.state.Removals {
		switch {
		case name != "" && name != c.Name:
		case c.Status.Bad(), c.Status == Aborted, c.Status == Retrying && name != "":
			again = append(again, i)
		}
	}
	return again
}

// retryRemoval gives a removal a fresh start; the caller reindexes.
func (m *Machine) retryRemoval(i int) {
	c := &m.state.Removals[i]
	from := c.Status
	c.Status, c.Failures, c.Timeouts = Blocked, 0, 0
	c.EndedAt, c.RetryAt = time.Time{}, time.Time{}
	c.Message, c.LastFailure = "", ""
	if from != Blocked {
		m.noteRemoval(i, from, Blocked, "retried by hand")
	}
}
