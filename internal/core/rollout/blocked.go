package rollout

import (
	"fmt"
	"strings"
)

// namedAtMost is how many components of an earlier step a blocker names; the
// rest is a number.
const namedAtMost = 5

// BlockedBy says what a component waits for, the most telling first. It is empty
// only for a component that waits for nothing: one that is Healthy, has failed,
// or was aborted.
func (m *Machine) BlockedBy(name string) []Blocker {
	i, ok := m.byName[name]
	if !ok {
		return m.removalBlockedBy(name)
	}
	c := &m.state.Components[i]
	switch c.Status {
	case Syncing, Waiting, Regressed, Unconfirmed:
		return []Blocker{{Kind: OnHealth, Component: name, Reason: m.describe(i), Until: c.Deadline}}
	case Blocked, Retrying:
		return m.blockers(i)
	default:
		return nil
	}
}

func (m *Machine) blockers(i int) []Blocker {
	c, spec := &m.state.Components[i], &m.state.Spec
	step := spec.Components[i].Step
	found := m.unmetRequirements(i)
	if m.after[i] > m.settled {
		found = append(found, m.unsettledBefore()...)
	}
	if m.state.Result == ResultAborted || m.state.Result == ResultTimedOut {
		return append(found, Blocker{Kind: OnEnd, Reason: m.state.Message})
	}
	if m.halted() {
		found = append(found, m.haltedBy()...)
	}
	if c.Status == Retrying && !c.RetryAt.IsZero() && len(found) == 0 {
		found = append(found, Blocker{
			Kind: OnBackoff, Reason: joinMessage("waits for its next attempt", c.Message), Until: c.RetryAt,
		})
	}
	if !m.approved(step) {
		found = append(found, Blocker{Kind: OnApproval, Reason: spec.Steps[step].String() + " waits for approval"})
	}
	found = append(found, m.pausedBy()...)
	if len(found) > 0 {
		return found
	}
	switch {
	case m.state.StartedAt.IsZero():
		return []Blocker{{Kind: OnStart, Reason: "the rollout has not started"}}
	case m.full(step):
		return []Blocker{{Kind: OnLimit, Reason: fmt.Sprintf(
			"%s has %d in flight, as many as it may", spec.Steps[step], m.stepInFlight[step])}}
	default:
		return []Blocker{{Kind: OnCap, Reason: fmt.Sprintf("%d components are in flight, as many as may be", m.inFlight+m.removing)}}
	}
}

// pausedBy is the pause, if there is one.
func (m *Machine) pausedBy() []Blocker {
	if m.state.PausedAt.IsZero() {
		return nil
	}
	reason := "the rollout is paused"
	if m.state.PausedBy != "" {
		reason += " by " + m.state.PausedBy
	}
	return []Blocker{{Kind: OnPause, Reason: reason}}
}

// unmetRequirements are the requirements that are not Healthy, in the order of
// the spec, each with the component at the end of its own chain of waits.
func (m *Machine) unmetRequirements(i int) []Blocker {
	if m.unmet[i] == 0 {
		return nil
	}
	found := make([]Blocker, 0, m.unmet[i])
	for _, j := range m.graph.Requires(i) {
		r := &m.state.Components[j]
		if r.Status == Done {
			continue
		}
		b := Blocker{Kind: OnRequirement, Component: r.Name, Reason: m.describe(int(j))}
		if root := m.root(int(j)); root != int(j) {
			b.Root = m.state.Components[root].Name
			b.Reason = "is blocked by " + b.Root + ", which " + m.describe(root)
		}
		found = append(found, b)
	}
	return found
}

// root follows a blocked component through its unmet requirements to the one
// that waits for nothing else: one that failed if there is one.
func (m *Machine) root(i int) int {
	seen := map[int]bool{i: true}
	stack, leaf := []int{i}, -1
	for len(stack) > 0 {
		k := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		c := &m.state.Components[k]
		if c.Status.Bad() {
			return k
		}
		requires := m.graph.Requires(k)
		followed := false
		if c.Status == Blocked || c.Status == Retrying {
			for n := len(requires) - 1; n >= 0; n-- {
				j := int(requires[n])
				if m.state.Components[j].Status == Done {
					continue
				}
				followed = true
				if !seen[j] {
					seen[j] = true
					stack = append(stack, j)
				}
			}
		}
		if !followed && leaf < 0 {
			leaf = k
		}
	}
	return leaf
}

// unsettledBefore are the components of the first step that is not settled.
func (m *Machine) unsettledBefore() []Blocker {
	var found []Blocker
	more := 0
	for j := range m.state.Components {
		if m.group[j] != m.settled || m.isSettled(j) {
			continue
		}
		if len(found) == namedAtMost {
			more++
			continue
		}
		found = append(found, Blocker{
			Kind: OnStep, Component: m.state.Components[j].Name,
			Reason: m.state.Spec.Steps[m.state.Spec.Components[j].Step].String() + " comes first: it " + m.describe(j),
		})
	}
	if more > 0 {
		found = append(found, Blocker{Kind: OnStep, Reason: fmt.Sprintf("%d more components come first", more)})
	}
	return found
}

// haltedBy names the components whose failure halted the rollout.
func (m *Machine) haltedBy() []Blocker {
	var found []Blocker
	for j := range m.state.Components {
		if c := &m.state.Components[j]; c.Status.Bad() && len(found) < namedAtMost {
			found = append(found, Blocker{
				Kind: OnHalt, Component: c.Name, Reason: "the rollout halted: it " + m.describe(j),
			})
		}
	}
	for j := range m.state.Removals {
		if c := &m.state.Removals[j]; c.Status.Bad() && len(found) < namedAtMost {
			found = append(found, Blocker{
				Kind: OnHalt, Component: c.Name, Reason: "the rollout halted: it " + m.describeRemoval(j),
			})
		}
	}
	return found
}

// describe says where a component stands, as what follows its name.
func (m *Machine) describe(i int) string {
	c := &m.state.Components[i]
	var what string
	switch c.Status {
	case Blocked:
		what = "has not started"
	case Syncing:
		what = "is being applied"
	case Waiting:
		what = "is not Healthy yet"
		if c.Seen.Health == "" {
			what = "has not been observed yet"
		}
	case Retrying:
		what = fmt.Sprintf("waits for attempt %d", c.Attempt+1)
	case Regressed:
		what = "was Healthy and is not any more"
	case Unconfirmed:
		what = "has not been observed since the run was interrupted"
	case Failed:
		what = "failed"
	case TimedOut:
		if strings.HasPrefix(c.Message, "timed out") {
			return c.Message
		}
		what = "timed out"
	case Aborted:
		what = "was aborted"
	default: // Done
		what = "is " + string(c.Status)
	}
	return joinMessage(what, c.Message)
}
