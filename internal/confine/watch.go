package confine

import (
	"sync"
	"time"
)

// watchEvery is how often the parent looks at a worker that computes.
const watchEvery = 20 * time.Millisecond

// togetherTime is how much CPU time a worker may take for a call beside others: one that
// takes longer is made again alone, so that others do not wait for it.
const togetherTime = 2 * time.Second

// watch looks at a worker while it computes and kills it when it takes too much.
type watch struct {
	worker *worker
	flight *flight

	mu     sync.Mutex
	over   Limit
	paused bool
	spent  time.Duration // by the clock, without the answers
	since  time.Time
	before time.Duration // CPU time at the start of the call; negative is unknown
	timer  *time.Timer
	ended  bool
}

func newWatch(w *worker, f *flight) *watch {
	t := &watch{worker: w, flight: f, since: time.Now(), before: -1}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(watchEvery, t.look)
	return t
}

func (t *watch) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	spent := t.spent
	if !t.paused {
		spent += time.Since(t.since)
	}
	cpu, resident, ok := usage(t.worker.command.Process.Pid)
	if ok && t.before < 0 {
		t.before = max(0, cpu-spent)
	}
	allowed := t.flight.call.Time
	if t.worker.together(t.flight) {
		allowed = min(allowed, togetherTime)
	}
	switch {
	case ok && resident > maxResident:
		t.over = Memory
	case allowed > 0 && (ok && cpu-t.before > allowed || spent > patience*allowed):
		t.over = Time
	}
	if t.over != "" {
		t.worker.kill()
		return
	}
	t.timer.Reset(watchEvery)
}

func (t *watch) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent += time.Since(t.since)
	t.paused = true
}

func (t *watch) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since, t.paused = time.Now(), false
}

// end stops watching and returns the limit that the worker was killed for.
func (t *watch) end() Limit {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.timer.Stop()
	return t.over
}
