package world

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Loop works off keys: each at most once at a time, again when it is added
// while it is worked on, later when its work asks for that, and with a backoff
// when it fails.
type Loop struct {
	name  string
	log   *slog.Logger
	queue workqueue.TypedRateLimitingInterface[string]
}

// NewLoop makes a loop that is driven by Run.
func NewLoop(name string, c clock.WithTicker, log *slog.Logger) *Loop {
	return &Loop{name: name, log: log, queue: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 5*time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name, Clock: c},
	)}
}

// Add queues keys.
func (l *Loop) Add(keys ...string) {
	for _, k := range keys {
		l.queue.Add(k)
	}
}

// AddAfter queues a key after a while.
func (l *Loop) AddAfter(key string, after time.Duration) { l.queue.AddAfter(key, after) }

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
		l.queue.AddRateLimited(key)
	default:
		l.queue.Forget(key)
		if after > 0 {
			l.queue.AddAfter(key, after)
		}
	}
	return true
}
