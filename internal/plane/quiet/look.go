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

// left is what was open when nothing had begun or ended for a long time; outside, how
// many goroutines were in the operating system then: a few are forever, such as the one
// that waits for signals.
var left, outside atomic.Int64

// Await returns true as soon as this process has nothing to do, and false when ctx
// ends or it still has after the limit. busy reports what else it may have to do, such
// as to wait for another process; nil for nothing.
func Await(ctx context.Context, limit time.Duration, busy func() bool) bool {
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
		case Now(busy):
			calm++
		case now.Sub(since) >= unchanged:
			if at := look(); at.rests() && (busy == nil || !busy()) {
				left.Store(pending)
				outside.Store(at.outside)
				return true
			}
			calm = 0
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
func Now(busy func() bool) bool {
	if busy != nil && busy() {
		return false
	}
	if open.Load() > left.Load() || time.Now().UnixNano()-postponed.Load() <= int64(putOff) {
		return false
	}
	at := look()
	if at.outside < outside.Load() {
		outside.Store(at.outside)
	}
	// A goroutine whose thread waits for a core in the middle of a write neither runs nor
	// could run.
	return at.rests() && at.outside <= outside.Load()
}

// state counts goroutines.
type state struct{ runnable, running, outside int64 }

// rests reports that no goroutine runs or could run but the one that asks.
func (s state) rests() bool { return s.runnable == 0 && s.running <= 1 }

// sample holds what look reads.
var sample = struct {
	sync.Mutex
	values []metrics.Sample
}{values: []metrics.Sample{
	{Name: "/sched/goroutines/runnable:goroutines"},
	{Name: "/sched/goroutines/running:goroutines"},
	{Name: "/sched/goroutines/not-in-go:goroutines"},
}}

func look() state {
	sample.Lock()
	defer sample.Unlock()
	metrics.Read(sample.values)
	at := func(i int) int64 { return int64(sample.values[i].Value.Uint64()) } //nolint:gosec // a process has fewer goroutines
	return state{runnable: at(0), running: at(1), outside: at(2)}
}
