package rollout

import (
	"fmt"
	"slices"
)

// removalBlockedBy says what a component to be removed waits for, as BlockedBy
// does for the others.
func (m *Machine) removalBlockedBy(name string) []Blocker {
	i, ok := m.removalByName[name]
	if !ok {
		return nil
	}
	c := &m.state.Removals[i]
	switch c.Status {
	case Removing:
		return []Blocker{{Kind: OnRemoval, Component: name, Reason: m.describeRemoval(i), Until: c.Deadline}}
	case Blocked, Retrying:
	default:
		return nil
	}
	found := append(m.notGone(i), m.notHealthy()...)
	if r := m.state.Result; r == ResultAborted || r == ResultTimedOut {
		return append(found, Blocker{Kind: OnEnd, Reason: m.state.Message})
	}
	if m.halted() {
		found = append(found, m.haltedBy()...)
	}
	if c.Status == Retrying && m.now.Before(c.RetryAt) && len(found) == 0 {
		found = append(found, Blocker{
			Kind: OnBackoff, Reason: joinMessage("waits for its next attempt", c.Message), Until: c.RetryAt,
		})
	}
	found = append(found, m.pausedBy()...)
	switch {
	case len(found) > 0:
		return found
	case m.state.StartedAt.IsZero():
		return []Blocker{{Kind: OnStart, Reason: "the rollout has not started"}}
	default:
		return []Blocker{{Kind: OnCap, Reason: fmt.Sprintf("%d components are in flight, as many as may be", m.inFlight+m.removing)}}
	}
}

// notGone are the components that must be gone before one is removed, the last
// applied first.
func (m *Machine) notGone(i int) []Blocker {
	required := make(map[int]bool, len(m.removalDependants[i]))
	for _, j := range m.removalDependants[i] {
		required[j] = true
	}
	var failed, others []Blocker
	for _, j := range m.waitsToGo(i) {
		c := &m.state.Removals[j]
		what := "was applied after it"
		if required[j] {
			what = "required it"
		}
		b := Blocker{Kind: OnRemoval, Component: c.Name, Reason: what + " and " + m.describeRemoval(j)}
		root, ok := m.failedRemovalBehind(j)
		if ok && root != j {
			b.Root = m.state.Removals[root].Name
			b.Reason = what + " and is blocked by " + b.Root + ", which " + m.describeRemoval(root)
		}
		if ok {
			failed = append(failed, b)
		} else {
			others = append(others, b)
		}
	}
	found := slices.Concat(failed, others)
	return found[:min(len(found), namedAtMost)]
}

// waitsToGo are the removals that one waits for and that are not gone, the last
// applied first.
func (m *Machine) waitsToGo(i int) []int {
	var found []int
	known := m.state.Spec.Remove[i].EdgesKnown
	for j := len(m.state.Removals) - 1; j > i; j-- {
		if m.state.Removals[j].Status == Removed {
			continue
		}
		if !known || !m.state.Spec.Remove[j].EdgesKnown || slices.Contains(m.removalDependants[i], j) {
			found = append(found, j)
		}
	}
	return found
}

// failedRemovalBehind finds the removal that failed for which one waits in the
// end, itself included.
func (m *Machine) failedRemovalBehind(i int) (failed int, ok bool) {
	seen := map[int]bool{i: true}
	stack := []int{i}
	for len(stack) > 0 {
		k := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if m.state.Removals[k].Status.Bad() {
			return k, true
		}
		for _, j := range m.waitsToGo(k) {
			if !seen[j] {
				seen[j] = true
				stack = append(stack, j)
			}
		}
	}
	return 0, false
}

// notHealthy are the components that stay and are not Healthy, those that failed
// if any did: nothing is removed before everything is Healthy.
func (m *Machine) notHealthy() []Blocker {
	if m.allHealthy() {
		return nil
	}
	failed := m.count[Failed]+m.count[TimedOut] > 0
	var found []Blocker
	for j := range m.state.Components {
		c := &m.state.Components[j]
		if c.Status == Done || failed && !c.Status.Bad() || len(found) == namedAtMost {
			continue
		}
		found = append(found, Blocker{
			Kind: OnRemoval, Component: c.Name, Reason: "nothing is removed before everything is Healthy: it " + m.describe(j),
		})
	}
	return found
}

// describeRemoval says where a removal stands, as what follows its name.
func (m *Machine) describeRemoval(i int) string {
	c := &m.state.Removals[i]
	switch c.Status {
	case Blocked:
		return "is not removed yet"
	case Removing:
		what := "is being deleted"
		if seen, ok := c.seenInAttempt(); ok {
			return joinMessage(what, seen.Message)
		}
		return what
	case Retrying:
		return joinMessage(fmt.Sprintf("waits for attempt %d at its deletion", c.Attempt+1), c.Message)
	case Failed, TimedOut:
		return joinMessage("could not be deleted", c.Message)
	case Aborted:
		return joinMessage("was aborted", c.Message)
	default: // Removed
		return "is " + string(c.Status)
	}
}
