package rehearse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/argocd/tracker"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

const (
	// quietAfterFailure is how long the rollout is followed at least after the
	// first failure: what fails for the same reason does so about then.
	quietAfterFailure = 15 * time.Second
	// leastPatience is the least time without any movement after which what has not
	// started counts as failed: at first Argo CD makes every manifest.
	leastPatience = 90 * time.Second
	// lookAgain is how often deadlines are looked at.
	lookAgain = time.Second
)

// followed is a rollout that Argo CD makes by itself.
type followed struct {
	*argoTarget
	follower *tracker.Follower
}

// followed follows on from what was rolled out before Argo CD.
func (a *argoTarget) followed(early early) *followed {
	f := tracker.New(a.spec, tracker.Options{
		Applications: a.applications(), Parents: a.setup.parents, Spanning: a.spanning(),
		Patience: max(leastPatience, a.options.LeastTimeout), Quiet: quietAfterFailure,
	}, early.began(a.clock.Now()))
	f.Set(early.states, early.transitions)
	return &followed{argoTarget: a, follower: f}
}

// spanning are the components that apply other Applications as well.
func (a *argoTarget) spanning() map[string]bool {
	all := map[string]bool{}
	for _, c := range a.loaded.Platform.Components {
		if c.AppOfApps {
			all[c.Name] = true
		}
	}
	return all
}

// run follows the Applications until there is nothing left to wait for.
func (a *followed) run(ctx context.Context) error {
	o := a.options
	o.Observer.Stage(fmt.Sprintf("Argo CD %s rolls out %s", a.version, finding.Count(len(a.spec.Components), "component")))
	inspector, err := status.NewInspector(a.access, nil)
	if err != nil {
		return err
	}
	watcher, err := status.New(status.Config{
		REST: a.access, Namespace: a.setup.namespace, Applications: a.applications(), Inspector: inspector,
		Want: status.Want{Revision: a.setup.revision, Repositories: []string{a.setup.address}}, Mode: status.Follow, Clock: a.clock,
	})
	if err != nil {
		return err
	}
	defer watcher.Close()
	progress := session.NewProgress(o.Observer, a.loaded, a.planned, o.Speed, a.clock.Now)
	stop := progress.Refresh(ctx)
	defer stop()
	work, done := context.WithCancel(ctx)
	defer done()
	seen, failed := make(chan string, 1024), make(chan error, 1)
	go func() {
		failed <- watcher.Watch(work, func(seenOf executor.Observation) {
			select {
			case seen <- seenOf.Component:
			case <-work.Done():
			}
		})
	}()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for !a.follower.Ended() {
		var names []string
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return errors.Join(err, ctx.Err())
		case name := <-seen:
			names = drain(seen, name)
		case <-tick.C:
		case event := <-o.Control:
			if _, ok := event.(rollout.Abort); ok {
				a.follower.Abort(a.clock.Now())
			}
		}
		now := a.clock.Now()
		if changed := a.follower.Look(watcher, now, names...); len(changed) > 0 || a.follower.Ended() {
			progress.Notice(executor.Notice{At: now, Transitions: changed, View: a.follower})
		}
	}
	return nil
}

// outcome implements course.
func (a *followed) outcome() executor.Outcome {
	return executor.Outcome{
		State: a.follower.State(), Transitions: a.follower.Transitions(), Result: a.follower.Result(), Blocked: a.follower.Blocked(),
		Interrupted: !a.follower.Ended(),
	}
}

// drain takes what else has been seen.
func drain(seen <-chan string, first string) []string {
	names := []string{first}
	for {
		select {
		case name := <-seen:
			names = append(names, name)
		default:
			slices.Sort(names)
			return slices.Compact(names)
		}
	}
}
