package simtime

import (
	"time"

	"k8s.io/utils/clock"
)

// Part is a clock that shows the time of another one and knows which timers are its
// own.
type Part struct{ *Clock }

var _ clock.WithTicker = (*Part)(nil)

// Part returns a new part of the clock.
func (c *Clock) Part() *Part { return &Part{c} }

// Next is when the next timer of the part is due; ok is false when it has none.
func (p *Part) Next() (due time.Time, ok bool) { return p.next(p) }

// NewTimer implements clock.Clock.
func (p *Part) NewTimer(d time.Duration) clock.Timer {
	t := &timer{clock: p.Clock, part: p, ticks: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// After implements clock.Clock.
func (p *Part) After(d time.Duration) <-chan time.Time { return p.NewTimer(d).C() }

// Sleep implements clock.Clock.
func (p *Part) Sleep(d time.Duration) { <-p.After(d) }
