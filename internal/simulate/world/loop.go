package world

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

// Loop works off keys: each at most once at a time, again when it is added
// while it is worked on, later when its work asks for that, and with a backoff
// when it fails.
//
// It waits by the simulated clock, but after a failure as long as a controller
// does in real time.
type Loop struct {
	name  string
	log   *slog.Logger
	clock *simtime.Clock
	queue workqueue.TypedInterface[string]
	again workqueue.TypedRateLimiter[string]

	mu      sync.Mutex
	waiting map[string]wait
}

// wait is one for the moment at which a key is queued.
type wait struct {
	due   time.Time
	timer clock.Timer
}

// NewLoop makes a loop that is driven by Run.
func NewLoop(name string, c *simtime.Clock, log *slog.Logger) *Loop {
	return &Loop{
		name: name, log: log, clock: c, waiting: map[string]wait{},
		queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name}),
		again: workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 5*time.Second),
	}
}

// Add queues keys.
func (l *Loop) Add(keys ...string) {
	for _, k := range keys {
		l.queue.Add(k)
	}
}

// AddAfter queues a key after a while. Of two waits for one key the one that ends
// first counts.
func (l *Loop) AddAfter(key string, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := l.clock.Now().Add(after)
	if before, ok := l.waiting[key]; ok {
		if !due.Before(before.due) {
			return
		}
		before.timer.Stop()
	}
	l.waiting[key] = wait{due: due, timer: l.clock.AfterFunc(after, func() { l.ended(key, due) })}
}

func (l *Loop) ended(key string, due time.Time) {
	l.mu.Lock()
	if w, ok := l.waiting[key]; ok && w.due.Equal(due) {
		delete(l.waiting, key)
	}
	l.mu.Unlock()
	l.queue.Add(key)
}

// Run works until ctx ends. work returns after how long it wants to see the key
// again; 0 means only when the key is added.
func (l *Loop) Run(ctx context.Context, workers int, work func(ctx context.Context, key string) (time.Duration, error)) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for l.next(ctx, work) {
			}
		})
	}
	<-ctx.Done()
	l.queue.ShutDown()
	wg.Wait()
}

func (l *Loop) next(ctx context.Context, work func(ctx context.Context, key string) (time.Duration, error)) bool {
	key, stopped := l.queue.Get()
	if stopped {
		return false
	}
	defer l.queue.Done(key)
	after, err := work(ctx, key)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		l.log.Debug("simulated world: will try again", "loop", l.name, "key", key, "error", err)
		after := l.again.When(key)
		l.AddAfter(key, l.clock.AtLeast(after, after))
	default:
		l.again.Forget(key)
		if after > 0 {
			l.AddAfter(key, after)
		}
	}
	return true
}
