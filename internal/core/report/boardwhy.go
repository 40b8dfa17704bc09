package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// BoardWhy is one root cause of waiting.
type BoardWhy struct {
	// On is the component that all of them wait for in the end, or a phrase
	// where it is none: a pause, an approval, a limit.
	On string
	// State and Text say where that component stands, in the words of its
	// object; empty for a phrase.
	State, Text string
	// Age is how long ago it was observed; 0 for never.
	Age time.Duration
	// Components wait for it, in the order of the rollout.
	Components []string
}

// BoardApproval is a step that waits for nothing but an approval.
type BoardApproval struct {
	Step  int // index into rollout.Spec.Steps
	Label string
	Count int // components of the step that have not started
}

// rootCauses finds root causes. It asks for the blockers of a component once.
type rootCauses struct {
	state     rollout.State
	blockedBy func(string) []rollout.Blocker
	index     map[string]int
	known     map[string][]rollout.Blocker
}

func newRootCauses(state rollout.State, blockedBy func(string) []rollout.Blocker) *rootCauses {
	c := &rootCauses{state: state, blockedBy: blockedBy, index: map[string]int{}, known: map[string][]rollout.Blocker{}}
	for i, s := range state.Components {
		c.index[s.Name] = i
	}
	return c
}

// of are the blockers of a component, the gravest first.
func (c *rootCauses) of(name string) []rollout.Blocker {
	found, ok := c.known[name]
	if !ok {
		found = CausesFirst(c.blockedBy(name))
		c.known[name] = found
	}
	return found
}

// root follows a blocked component to what holds it up in the end: a component
// that has started, or a phrase.
func (c *rootCauses) root(name string) (on string, component bool) {
	for range c.state.Components { // no chain is longer
		blockers := c.of(name)
		if len(blockers) == 0 {
			return name, true
		}
		next := cmp.Or(blockers[0].Root, blockers[0].Component)
		if next == "" {
			return blockers[0].Reason, false
		}
		i, ok := c.index[next]
		if next == name || !ok || c.state.Components[i].Status != rollout.Blocked {
			return next, true
		}
		name = next
	}
	return name, true
}

// whys are the root causes, those that hold up most first.
func (c *rootCauses) whys(now time.Time) []BoardWhy {
	var found []BoardWhy
	at := map[string]int{}
	for _, s := range c.state.Components {
		if s.Status != rollout.Blocked {
			continue
		}
		on, component := c.root(s.Name)
		k, ok := at[on]
		if !ok {
			k = len(found)
			at[on] = k
			found = append(found, BoardWhy{On: on})
			if i, ok := c.index[on]; ok && component {
				root := c.state.Components[i]
				found[k].State, found[k].Text = string(root.Status), explain(root)
				if !root.Seen.At.IsZero() {
					found[k].Age = now.Sub(root.Seen.At)
				}
			}
		}
		found[k].Components = append(found[k].Components, s.Name)
	}
	slices.SortStableFunc(found, func(x, y BoardWhy) int { return cmp.Compare(len(y.Components), len(x.Components)) })
	return found
}

// approvals are the steps of which some component waits for an approval only.
func (c *rootCauses) approvals() []BoardApproval {
	blocked := make([]int, len(c.state.Spec.Steps))
	only := make([]bool, len(c.state.Spec.Steps))
	for i, s := range c.state.Components {
		if s.Status != rollout.Blocked {
			continue
		}
		step := c.state.Spec.Components[i].Step
		blocked[step]++
		blockers := c.of(s.Name)
		asked := slices.ContainsFunc(blockers, func(b rollout.Blocker) bool { return b.Kind == rollout.OnApproval })
		other := slices.ContainsFunc(blockers, func(b rollout.Blocker) bool {
			return b.Kind != rollout.OnApproval && b.Kind != rollout.OnPause
		})
		only[step] = only[step] || asked && !other
	}
	var found []BoardApproval
	for step, s := range c.state.Spec.Steps {
		if only[step] {
			found = append(found, BoardApproval{Step: step, Label: s.Label, Count: blocked[step]})
		}
	}
	return found
}
