package simtime

import (
	"time"

	"k8s.io/utils/clock"
)

// timer is a timer of a Clock. It is guarded by the clock.
type timer struct {
	clock *Clock
	part  *Part
	due   time.Time
	// act is called when the timer ends, else ticks gets the time.
	act   func()
	ticks chan time.Time
	// armedAs tells the real timers of one timer apart.
	armedAs int
	real    *time.Timer
}

// NewTimer implements clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: c, ticks: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// AfterFunc calls f when the duration has passed; f must not block. Where Advance
// ends the timer, f has returned before Advance does.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &timer{clock: c, act: f}
	t.Reset(d)
	return t
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.ticks }

// Stop implements clock.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.disarm()
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.disarm()
	t.due = t.clock.now().Add(d)
	t.clock.armed[t] = struct{}{}
	t.arm()
	return was
}

// disarm leaves no tick behind, as the timers of Go since 1.23.
func (t *timer) disarm() bool {
	_, was := t.clock.armed[t]
	delete(t.clock.armed, t)
	t.stopReal()
	if t.ticks != nil {
		select {
		case <-t.ticks:
		default:
		}
	}
	return was
}

func (t *timer) stopReal() {
	t.armedAs++
	if t.real != nil {
		t.real.Stop()
		t.real = nil
	}
}

// arm sets the real timer by the rate of the clock. A clock that stands still has
// none, but for what is due already.
func (t *timer) arm() {
	t.stopReal()
	left := t.due.Sub(t.clock.now())
	rate := t.clock.course[len(t.clock.course)-1].rate
	switch {
	case left <= 0:
		left = 0
	case rate <= 0:
		return
	default:
		left = scaled(left, 1/rate) + time.Nanosecond // not a moment too early
	}
	id := t.armedAs
	t.real = time.AfterFunc(left, func() { t.end(id) })
}

// end is called by the real timer.
func (t *timer) end(id int) {
	c := t.clock
	c.mu.Lock()
	if _, armed := c.armed[t]; !armed || t.armedAs != id {
		c.mu.Unlock()
		return // stopped, or set anew
	}
	delete(c.armed, t)
	t.real = nil
	now := c.now()
	c.mu.Unlock()
	t.ring(now)
}

func (t *timer) ring(now time.Time) {
	if t.act != nil {
		t.act()
		return
	}
	select {
	case t.ticks <- now:
	default:
	}
}
