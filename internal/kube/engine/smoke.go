package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
)

// holdFactor is how much less often checks that hold are run again than checks
// that do not: a smoke that passed is asked again to notice a regression.
const holdFactor = 12

// soonest is the part of the interval after which checks that do not hold run again the first
// time, and then after twice as long until it is the whole: most wait for no more than
// the controller that lists the endpoints of a Service.
const soonest = 16

// again is after how long checks that do not hold run again, which failed so often before.
func again(interval time.Duration, failed int) time.Duration {
	return min(interval, interval/soonest<<min(failed, soonest))
}

// smokeState is what is known of the smoke checks of a component. It is guarded
// by the component.
type smokeState struct {
	running bool
	ran     bool
	// failed is how often in a row they did not hold.
	failed int
	// due is when the checks may run again.
	due time.Time
	ok  bool
	// object and message explain why they do not hold.
	object  finding.Resource
	message string
}

// withSmoke adds the smoke checks to the health of a component whose objects
// were seen at the revision, and starts them where they are due. A component
// that is not Healthy by itself is not checked.
func (e *Engine) withSmoke(ctx context.Context, c *component, seen *executor.Observation, running *sync.WaitGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.smoke
	if seen.Health != rollout.Healthy {
		s.ran, s.ok, s.failed, s.due = false, false, 0, time.Time{} // asked anew once it is
		return
	}
	if !s.running && !seen.At.Before(s.due) {
		s.running = true
		running.Go(func() { e.runSmoke(ctx, c) })
	}
	switch {
	case s.ran && s.ok:
	case s.ran:
		seen.Health, seen.Object, seen.Message = rollout.Progressing, s.object, s.message
	default:
		seen.Health, seen.Message = rollout.Progressing, "smoke checks have not run yet"
	}
}

// runSmoke runs the checks of a component once, has Watch look at it, and waits
// until they are due again to have it look once more.
func (e *Engine) runSmoke(ctx context.Context, c *component) {
	results := smoke.Run(ctx, e.smokes, c.model.Smoke, e.config.Smoke)
	if ctx.Err() != nil {
		return
	}
	wait := e.config.SmokeInterval
	c.mu.Lock()
	s := &c.smoke
	s.running, s.ran, s.ok, s.object, s.message = false, true, true, finding.Resource{}, ""
	for _, r := range results {
		if !r.OK {
			s.ok = false
			s.object = finding.Resource{Group: r.Check.Group, Kind: r.Check.ObjectKind, Namespace: r.Check.Namespace, Name: r.Check.Name}
			s.message = shorten(fmt.Sprintf("smoke check %s: %s", r.Check, r.Message))
			break
		}
	}
	if s.ok {
		s.failed = 0
		wait *= holdFactor
	} else {
		wait = again(wait, s.failed)
		s.failed++
	}
	s.due = e.config.Clock.Now().Add(wait)
	c.mu.Unlock()
	e.dirty.add(c.name)
	if Pause(ctx, e.config.Clock, wait) == nil {
		e.dirty.add(c.name)
	}
}
