package idle

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// short is below which a wait counts: for requests that are repeated and for changes
// that are collected. Longer ones guard against what hardly ever happens.
const short = time.Second

// Waits is the real clock. It knows how many short waits run: what waits in real
// time must not be overtaken by simulated time.
type Waits struct {
	clock.RealClock
	running atomic.Int64
}

// Running reports whether a short wait has not ended.
func (w *Waits) Running() bool { return w.running.Load() > 0 }

// After implements clock.Clock.
func (w *Waits) After(d time.Duration) <-chan time.Time { return w.NewTimer(d).C() }

// Sleep implements clock.Clock.
func (w *Waits) Sleep(d time.Duration) { <-w.After(d) }

// NewTimer implements clock.Clock.
func (w *Waits) NewTimer(d time.Duration) clock.Timer {
	t := &waiting{waits: w, ticks: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// waiting is a timer of Waits.
type waiting struct {
	waits *Waits
	ticks chan time.Time
	timer *time.Timer
	// open is set while the timer counts.
	open *atomic.Bool
}

// C implements clock.Timer.
func (t *waiting) C() <-chan time.Time { return t.ticks }

// Stop implements clock.Timer.
func (t *waiting) Stop() bool {
	stopped := t.timer.Stop()
	t.close(t.open)
	select {
	case <-t.ticks:
	default:
	}
	return stopped
}

// Reset implements clock.Timer.
func (t *waiting) Reset(d time.Duration) bool {
	was := t.timer != nil && t.Stop()
	open := &atomic.Bool{}
	if d > 0 && d < short {
		open.Store(true)
		t.waits.running.Add(1)
	}
	t.open = open
	t.timer = time.AfterFunc(d, func() {
		select {
		case t.ticks <- time.Now():
		default:
		}
		t.close(open)
	})
	return was
}

func (t *waiting) close(open *atomic.Bool) {
	if open.CompareAndSwap(true, false) {
		t.waits.running.Add(-1)
	}
}
