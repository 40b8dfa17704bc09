package simtime

import (
	"slices"
	"sort"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Clock shows simulated time. It begins with the real time, goes at its rate,
// and only ever forward.
type Clock struct {
	mu     sync.Mutex
	course []leg
	armed  map[*timer]struct{}
	// rate is how fast the clock goes while it is not held.
	rate float64
	held bool
}

var _ clock.WithTicker = (*Clock)(nil)

// leg is a stretch of time in which the rate does not change.
type leg struct {
	shown, real time.Time // at its beginning
	rate        float64   // simulated seconds for each real one
}

// longestCourse bounds what Real remembers: two words and a number for each jump.
const longestCourse = 1 << 16

// New returns a clock that goes rate times as fast as the real one; with a rate
// of 0 it stands still until Advance.
func New(rate float64) *Clock {
	now := time.Now()
	return &Clock{course: []leg{{shown: now, real: now, rate: rate}}, armed: map[*timer]struct{}{}, rate: rate}
}

// Now implements clock.PassiveClock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	last := c.course[len(c.course)-1]
	return last.shown.Add(scaled(time.Since(last.real), last.rate))
}

// Real is the real time at which the clock showed t: the time to write into what
// others read. A moment that was jumped over counts as the moment of the jump; one
// that is still to come, as now.
func (c *Clock) Real(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	i := sort.Search(len(c.course), func(i int) bool { return c.course[i].shown.After(t) })
	if i == 0 {
		return t
	}
	at := now
	if i < len(c.course) {
		at = c.course[i].real
	}
	if l := c.course[i-1]; l.shown.Equal(t) {
		at = l.real
	} else if l.rate > 0 {
		if reached := l.real.Add(scaled(t.Sub(l.shown), 1/l.rate)); reached.Before(at) {
			at = reached
		}
	}
	return at
}

// Rate is how fast the clock goes; 0 while it stands still.
func (c *Clock) Rate() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.course[len(c.course)-1].rate
}

// SetRate changes how fast the clock goes from now on; 0 has it stand still.
func (c *Clock) SetRate(rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate = rate
	c.follow()
}

// Hold has the clock stand still, whatever its rate, until it is let go.
func (c *Clock) Hold(held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = held
	c.follow()
}

func (c *Clock) follow() {
	rate := c.rate
	if c.held {
		rate = 0
	}
	if c.course[len(c.course)-1].rate != rate {
		c.turn(c.now(), rate)
		for t := range c.armed {
			t.arm()
		}
	}
}

// Advance moves the clock forward to a moment and ends the timers that are due
// then, in their order, before it returns. It does not move it back.
func (c *Clock) Advance(to time.Time) {
	c.mu.Lock()
	if to.After(c.now()) {
		c.turn(to, c.course[len(c.course)-1].rate)
	}
	var due []*timer
	now := c.now()
	for t := range c.armed {
		if !t.due.After(now) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *timer) int { return a.due.Compare(b.due) })
	for _, t := range due {
		delete(c.armed, t)
		t.stopReal()
	}
	c.mu.Unlock()
	for _, t := range due {
		t.ring(now)
	}
}

func (c *Clock) turn(shown time.Time, rate float64) {
	if len(c.course) == longestCourse {
		c.course = append(c.course[:0], c.course[longestCourse/2:]...)
	}
	c.course = append(c.course, leg{shown: shown, real: time.Now(), rate: rate})
}

// Next is when the next timer is due, but for those of parts; ok is false when
// there is none.
func (c *Clock) Next() (due time.Time, ok bool) { return c.next(nil) }

func (c *Clock) next(p *Part) (due time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t := range c.armed {
		if t.part == p && (!ok || t.due.Before(due)) {
			due, ok = t.due, true
		}
	}
	return due, ok
}

// AtLeast lengthens a duration of the clock so that it takes at least so long in
// real time while the clock goes: what repeats must not keep the machine busy at
// great rates. A clock that stands still is moved no sooner than all is quiet.
func (c *Clock) AtLeast(d, real time.Duration) time.Duration {
	return max(d, scaled(real, c.Rate()))
}

func scaled(d time.Duration, factor float64) time.Duration {
	return time.Duration(float64(d) * factor)
}

// Since implements clock.PassiveClock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Sleep implements clock.Clock.
func (c *Clock) Sleep(d time.Duration) { <-c.After(d) }

// After implements clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// Tick implements clock.Clock by the real clock.
func (c *Clock) Tick(d time.Duration) <-chan time.Time { return c.NewTicker(d).C() }

// NewTicker implements clock.WithTicker by the real clock: what ticks looks after
// something that no simulated time is needed for.
func (c *Clock) NewTicker(d time.Duration) clock.Ticker { return clock.RealClock{}.NewTicker(d) }
