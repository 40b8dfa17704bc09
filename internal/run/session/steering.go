package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// steering takes what people ask of a run from elsewhere, and answers when it has
// been persisted.
type steering struct {
	control chan<- rollout.Event
	// ended is closed when the run has ended, which persists what it took before.
	ended chan struct{}

	mu       sync.Mutex
	spec     rollout.Spec
	statuses map[string]rollout.Status
	progress rollout.Progress
}

func newSteering(spec rollout.Spec, control chan<- rollout.Event) *steering {
	d := &steering{control: control, ended: make(chan struct{}), spec: spec, statuses: map[string]rollout.Status{}}
	for _, c := range spec.Components {
		d.statuses[c.Name] = rollout.Blocked
	}
	return d
}

// notice keeps up with the run.
func (d *steering) notice(n executor.Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range n.Components {
		d.statuses[c.Name] = c.Status
	}
	d.progress = n.Progress
}

// take carries a request out and says what it did.
func (d *steering) take(ctx context.Context, r incluster.Request) incluster.Answer {
	event, message, refused := d.event(r)
	if refused != "" {
		return incluster.Answer{Refused: true, Message: refused}
	}
	if !d.send(ctx, event) {
		return incluster.Answer{Refused: true, Message: "the rollout has ended"}
	}
	// A run takes the tick when it has persisted what came before.
	d.send(ctx, rollout.Tick{})
	return incluster.Answer{Message: message}
}

func (d *steering) send(ctx context.Context, e rollout.Event) bool {
	select {
	case d.control <- e:
		return true
	case <-d.ended:
	case <-ctx.Done():
	}
	return false
}

// event says what a request means now, or why it means nothing.
func (d *steering) event(r incluster.Request) (event rollout.Event, message, refused string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	inFlight, waiting := 0, 0
	for _, s := range d.statuses {
		switch {
		case s.InFlight(), s == rollout.Retrying, s == rollout.Removing:
			inFlight++
		case s == rollout.Blocked:
			waiting++
		}
	}
	paused := !d.progress.PausedAt.IsZero()
	switch r.Action {
	case incluster.Pause:
		if paused {
			return nil, "", "the rollout is paused already, by " + d.progress.PausedBy
		}
		return rollout.Pause{By: r.By}, fmt.Sprintf("paused: %d in flight go on, %d wait", inFlight, waiting), ""
	case incluster.Resume:
		if !paused {
			return nil, "", "the rollout is not paused"
		}
		return rollout.Resume{}, fmt.Sprintf("resumed: %d may start as their gates open", waiting), ""
	case incluster.Abort:
		return rollout.Abort{By: r.By}, fmt.Sprintf("aborted: %d in flight stopped, %d never start", inFlight, waiting), ""
	case incluster.Approve:
		step, refused := d.stepOf(r.Target)
		if i := slices.IndexFunc(d.progress.Approvals, func(a rollout.Approval) bool { return a.Step == step }); step >= 0 && i >= 0 {
			if a := d.progress.Approvals[i]; a.Reason != "" || r.Reason == "" || a.By != r.By {
				return nil, "", fmt.Sprintf("step %s is approved already", d.spec.Steps[step].Label)
			}
			return rollout.Approve{Step: step, By: r.By, Reason: r.Reason}, "kept the reason of the approval of step " + d.spec.Steps[step].Label, ""
		}
		if refused != "" {
			return nil, "", refused
		}
		return rollout.Approve{Step: step, By: r.By, Reason: r.Reason}, "approved step " + d.spec.Steps[step].Label, ""
	case incluster.Retry:
		return d.retry(r.Target)
	}
	return nil, "", fmt.Sprintf("this run does not know the request %q", r.Action)
}

func (d *steering) retry(name string) (event rollout.Event, message, refused string) {
	if name == "" {
		n := 0
		for _, s := range d.statuses {
			if s.Bad() {
				n++
			}
		}
		if n == 0 {
			return nil, "", "nothing has failed"
		}
		return rollout.Retry{}, fmt.Sprintf("retried: %d start again", n), ""
	}
	status, known := d.statuses[name]
	switch {
	case !known:
		return nil, "", fmt.Sprintf("the rollout has no component %q", name)
	case !status.Bad() && status != rollout.Retrying && status != rollout.Aborted:
		return nil, "", fmt.Sprintf("%s is %s: there is nothing to retry", name, status)
	}
	return rollout.Retry{Component: name}, "retried: " + name + " starts again", ""
}

// stepOf finds a step by its label or one of its phases; -1 where it is none that is approved.
func (d *steering) stepOf(text string) (step int, refused string) {
	var held []string
	for i, s := range d.spec.Steps {
		byHand := s.Approval || s.Limit < 0
		if byHand && !d.progress.Approved(i) {
			held = append(held, s.Label)
		}
		if s.Label != text && !slices.Contains(strings.Split(s.Label, ","), text) {
			continue
		}
		if !byHand {
			return -1, fmt.Sprintf("step %s needs no approval", s.Label)
		}
		return i, ""
	}
	message := fmt.Sprintf("the rollout has no step %q", text)
	if len(held) > 0 {
		message += "; steps that wait for an approval: " + strings.Join(held, ", ")
	}
	return -1, message
}
