package rehearse

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/plane/quiet"
	"github.com/rollout-ladder/ladder/internal/simulate/idle"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

// times are the clocks of a rollout.
type times struct {
	// rollout is what its times are told by; deadlines is the same time for what fails
	// when it is due; server is that of repeated requests.
	engine, rollout, deadlines, server clock.Clock
	// skipper skips idle time; nil lets it pass.
	skipper *idle.Skipper

	mu      sync.Mutex
	changed time.Time // when something about the rollout changed last, in real time
}

// times returns the clocks of the rollout on the plane. What the store holds may be
// of a time that has not come yet: it goes on there.
func (s *target) times(access *rest.Config, saved time.Time) (*times, error) {
	t := s.realTimes()
	if !s.options.skips() {
		return t, nil
	}
	ask, err := idle.Over(access)
	if err != nil {
		return nil, err
	}
	c := simtime.New(0)
	c.Advance(saved)
	wakes, deadlines, waits := c.Part(), c.Part(), &idle.Waits{}
	t.engine, t.rollout, t.deadlines, t.server = c, wakes, deadlines, waits
	t.skipper = &idle.Skipper{
		Clock: c, Wakes: wakes, Deadlines: deadlines, Server: waits, Ask: ask, Silence: s.options.LeastTimeout, Changed: t.lastChange,
	}
	return t, nil
}

// realTimes are clocks that nobody moves.
func (s *target) realTimes() *times {
	return &times{engine: s.clock, rollout: s.clock, deadlines: s.clock, server: s.clock, changed: time.Now()}
}

// counted is the access of the rollout to the plane: no time is skipped while one of
// its requests is on its way.
func (t *times) counted(access *rest.Config) *rest.Config {
	if t.skipper == nil {
		return access
	}
	access = rest.CopyConfig(access)
	access.Wrap(quiet.Asking)
	return access
}

// follow has no time skipped while the engine has not seen what it did.
func (t *times) follow(e *engine.Engine) {
	if t.skipper != nil {
		t.skipper.Behind, t.skipper.BlindAt = e.Behind, e.BlindAt
	}
}

// notice tells that something about the rollout changed.
func (t *times) notice() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = time.Now()
}

func (t *times) lastChange() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// begin skips idle time until the returned function is called.
func (t *times) begin(ctx context.Context) (end func(), err error) {
	if t.skipper == nil {
		return func() {}, nil
	}
	if err := t.skipper.Begin(ctx); err != nil {
		return nil, err
	}
	skipping, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { t.skipper.Run(skipping) })
	return func() {
		stop()
		done.Wait()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		t.skipper.End(last)
	}, nil
}

// bounded adds the end of the real time that a rollout may take to what people ask
// for.
func bounded(ctx context.Context, asked <-chan rollout.Event, after time.Duration) <-chan rollout.Event {
	if after <= 0 {
		return asked
	}
	both := make(chan rollout.Event)
	go func() {
		up := time.NewTimer(after)
		defer up.Stop()
		for {
			var event rollout.Event
			select {
			case <-ctx.Done():
				return
			case <-up.C:
				event = rollout.TimeUp{After: after}
			case e, ok := <-asked:
				if !ok {
					asked = nil
					continue
				}
				event = e
			}
			select {
			case <-ctx.Done():
				return
			case both <- event:
			}
		}
	}()
	return both
}

// lastSaved is the time of the rollout that the plane keeps; zero for none.
func (s *target) lastSaved() (time.Time, error) {
	data, err := s.store.Load()
	if err != nil {
		return time.Time{}, fmt.Errorf("read the state of the rollout: %w", err)
	}
	state, _, found, err := executor.Restore(data)
	if err != nil || !found {
		return time.Time{}, err
	}
	return state.UpdatedAt, nil
}
