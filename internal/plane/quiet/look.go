package quiet

import (
	"context"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// looks in a row have to find nothing, between apart: what arrives through a
	// connection is nobody's for the moment in which it is read.
	looks   = 3
	between = 250 * time.Microsecond
	// unchanged is how long nothing may have begun or ended where something began that
	// never ends: a queue that was given up.
	unchanged = 250 * time.Millisecond
	// putOff is how long after an item was put off something may still come of it.
	putOff = 30 * time.Millisecond
)

// left is what was open when nothing had begun or ended for a long time.
var left atomic.Int64

// Await returns true as soon as this process has nothing to do, and false when ctx
// ends or it still has after the limit.
func Await(ctx context.Context, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	seen, rested := Activity(), open.Load()
	since := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for calm := 0; calm < looks; {
		now := time.Now()
		switch activity, pending := Activity(), open.Load(); {
		case activity != seen || pending != rested:
			seen, rested, since, calm = activity, pending, now, 0
		case Now():
			calm++
		case now.Sub(since) >= unchanged && atRest():
			left.Store(pending)
			return true
		default:
			calm = 0
		}
		if calm == looks {
			return true
		}
		if now.After(deadline) {
			return false
		}
		timer.Reset(between)
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
	}
	return true
}

// Now reports whether this process has nothing to do at this moment.
func Now() bool {
	pending := open.Load()
	if pending < left.Load() {
		left.Store(pending) // what was taken to be given up has ended after all
	}
	return pending <= left.Load() && time.Now().UnixNano()-postponed.Load() > int64(putOff) && atRest()
}

// sample holds what atRest reads.
var sample = struct {
	sync.Mutex
	values []metrics.Sample
}{values: []metrics.Sample{
	{Name: "/sched/goroutines/runnable:goroutines"},
	{Name: "/sched/goroutines/running:goroutines"},
}}

// atRest reports that no goroutine runs or could run but the one that asks.
func atRest() bool {
	sample.Lock()
	defer sample.Unlock()
	metrics.Read(sample.values)
	return sample.values[0].Value.Uint64() == 0 && sample.values[1].Value.Uint64() <= 1
}
