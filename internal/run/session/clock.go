package session

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// recheck is how often a timer that is due looks whether its clock goes again.
const recheck = 100 * time.Millisecond

// Clock is a clock that can be stopped: the timeouts of components must not run
// while the API server answers nobody. Its time lags behind by what it stood
// still.
type Clock struct {
	now func() time.Time

	mu   sync.Mutex
	lag  time.Duration
	held time.Time // when it was stopped, by now; zero while it goes
}

var _ clock.Clock = (*Clock)(nil)

// NewClock returns a clock that goes by now.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// hold stops the clock, let lets it go on.
func (c *Clock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held.IsZero() {
		c.held = c.now()
	}
}

func (c *Clock) let() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.IsZero() {
		c.lag += c.now().Sub(c.held)
		c.held = time.Time{}
	}
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.IsZero() {
		return c.held.Add(-c.lag)
	}
	return c.now().Add(-c.lag)
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Sleep implements clock.Clock.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// Tick implements clock.Clock, and like time.Tick never ends.
func (c *Clock) Tick(d time.Duration) <-chan time.Time {
	ticks := make(chan time.Time)
	go func() {
		for {
			ticks <- <-c.After(d)
		}
	}()
	return ticks
}

// NewTimer implements clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &standingTimer{clock: c, ticks: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// standingTimer is a timer by a Clock.
type standingTimer struct {
	clock *Clock
	ticks chan time.Time

	mu    sync.Mutex
	due   time.Time // by the clock; zero when it is not armed
	timer *time.Timer
}

// C implements clock.Timer.
func (t *standingTimer) C() <-chan time.Time { return t.ticks }

// Stop implements clock.Timer.
func (t *standingTimer) Stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disarm()
}

// Reset implements clock.Timer.
func (t *standingTimer) Reset(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	armed := t.disarm()
	t.due = t.clock.Now().Add(d)
	due := t.due
	t.timer = time.AfterFunc(d, func() { t.ring(due) })
	return armed
}

// disarm leaves no tick behind, as the timers of Go since 1.23. The caller holds
// mu.
func (t *standingTimer) disarm() bool {
	armed := !t.due.IsZero()
	t.due = time.Time{}
	if t.timer != nil {
		t.timer.Stop()
	}
	select {
	case <-t.ticks:
	default:
	}
	return armed
}

// ring ends the timer, unless the clock has stood still meanwhile.
func (t *standingTimer) ring(due time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.due.Equal(due) {
		return // it was stopped, or set anew
	}
	now := t.clock.Now()
	if left := due.Sub(now); left > 0 {
		t.timer = time.AfterFunc(max(left, recheck), func() { t.ring(due) })
		return
	}
	t.due = time.Time{}
	t.ticks <- now
}
