package idle

import (
	"context"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/plane/quiet"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

const (
	// pause is between two looks while something goes on that nobody can see, or
	// nothing may be skipped.
	pause = 2 * time.Millisecond
	// calm is how long the rehearsal itself may take until it is quiet.
	calm = time.Second
	// hopeless is for how long anything may be busy until time goes on as it does in
	// reality: a program that never rests must not stop it.
	hopeless = 30 * time.Second
	// news is how often the plane is asked at least: its lease must not end.
	news = time.Second
	// blindness is after how many times the silence that is asked for a deadline is due
	// although not all is seen: a kind whose conversion webhook is down never is.
	blindness = 3
)

// Ask sends an order to the plane.
type Ask func(ctx context.Context, o Order) (Answer, error)

// Skipper is the rehearsal's side.
type Skipper struct {
	// Clock is that of the rollout. Wakes and Deadlines are the parts of it that the
	// rollout itself waits by: while neither has a timer nothing is under way, and
	// people are waited for in real time.
	Clock            *simtime.Clock
	Wakes, Deadlines *simtime.Part
	// Server counts the short waits of the rehearsal that end in real time. Behind
	// reports whether the rollout has not seen yet what it did; nil never does.
	Server *Waits
	Behind func() bool
	Ask    Ask
	// Silence is for how long, in real time, nothing may have changed before a
	// deadline is skipped to: what really happens must not come too late. Changed is
	// when something did.
	Silence time.Duration
	Changed func() time.Time
	// BlindAt is when the rollout did not see last, in real time, what there is; nil is
	// never. What it did not see is no silence, up to blindness times Silence.
	BlindAt func() time.Time

	// lead is how far the plane's clock is ahead of the rollout's.
	lead  time.Duration
	known Answer
	asked time.Time
	// rested is when nothing was busy last.
	rested time.Time
}

// Begin has the plane's clock stand still. It fails where the plane does not answer.
func (s *Skipper) Begin(ctx context.Context) error {
	if err := s.ask(ctx, Order{}); err != nil {
		return err
	}
	s.lead = s.known.Now.Sub(s.Clock.Now())
	return nil
}

// End lets the plane's clock go by itself again.
func (s *Skipper) End(ctx context.Context) {
	_ = s.ask(ctx, Order{Release: true}) // the lease ends in any case
}

func (s *Skipper) ask(ctx context.Context, o Order) error {
	answer, err := s.Ask(ctx, o)
	if err != nil {
		return err
	}
	s.known, s.asked = answer, time.Now()
	return nil
}

// Run skips idle time until ctx ends. While the plane does not answer, time stands
// still.
func (s *Skipper) Run(ctx context.Context) {
	last := time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		passed := began.Sub(last)
		last = began
		if !s.turn(ctx, passed) {
			linger(ctx, pause)
		}
	}
}

// turn moves the clocks once, where nothing speaks against it; passed is the real
// time since the last turn.
func (s *Skipper) turn(ctx context.Context, passed time.Duration) (moved bool) {
	if time.Since(s.asked) >= news && s.ask(ctx, Order{}) != nil {
		return false
	}
	busy := !quiet.Await(ctx, calm, confine.Busy) || s.Server.Running() || s.Behind != nil && s.Behind()
	if !busy && s.known.Quiet || s.rested.IsZero() {
		s.rested = time.Now()
	}
	pace, flows := s.pace()
	if time.Since(s.rested) > hopeless {
		pace, flows = max(pace, 1), true
	} else if busy {
		return false
	}
	if flows {
		s.flow(ctx, time.Duration(float64(min(passed, news))*pace))
		return false
	}
	due, ours := s.next()
	if due.IsZero() {
		_ = s.ask(ctx, Order{}) // asked again in the next turn
		return false
	}
	if !s.still(ctx) {
		return false
	}
	if ours && !s.known.Now.Before(s.theirs(due)) {
		s.Clock.Advance(due)
		return true
	}
	if !ours {
		// What happens then is seen by a clock that shows the time.
		s.Clock.Advance(due)
	}
	err := s.ask(ctx, Order{To: s.theirs(due), Seen: s.known.Activity})
	return err == nil && s.known.Moved
}

// still reports whether nothing has begun since the last answer. A request of the
// rollout that waits for its answer is seen in the plane only: meanwhile the rollout
// looks as if it had nothing to do.
func (s *Skipper) still(ctx context.Context) bool {
	before := s.known.Activity
	return s.ask(ctx, Order{}) == nil && s.known.Quiet && s.known.Activity == before && quiet.Now(confine.Busy)
}

// pace is that of the time which cannot be skipped; flows is not set where it can be.
func (s *Skipper) pace() (pace float64, flows bool) {
	_, wakes := s.Wakes.Next()
	_, fails := s.Deadlines.Next()
	if !wakes && !fails && !s.known.Pending {
		return 1, true
	}
	return s.known.Pace, s.known.Pending
}

// next is the moment to which the clocks can be moved, zero for none, and whether
// it is the rollout's own.
func (s *Skipper) next() (due time.Time, ours bool) {
	if !s.known.Quiet {
		return time.Time{}, false
	}
	sooner := func(at time.Time, ok, own bool) {
		if ok && (due.IsZero() || at.Before(due)) {
			due, ours = at, own
		}
	}
	sooner(s.known.Next.Add(-s.lead), !s.known.Next.IsZero(), false)
	at, ok := s.Clock.Next()
	sooner(at, ok, true)
	at, ok = s.Wakes.Next()
	sooner(at, ok, true)
	if at, ok = s.Deadlines.Next(); ok && (due.IsZero() || at.Before(due)) {
		if !s.silent() {
			return time.Time{}, false
		}
		due, ours = at, true
	}
	return due, ours
}

// silent reports whether nothing has happened for so long that nothing will.
func (s *Skipper) silent() bool {
	quiet := time.Since(s.Changed())
	if s.BlindAt != nil && quiet < blindness*s.Silence {
		quiet = min(quiet, time.Since(s.BlindAt()))
	}
	return quiet >= s.Silence
}

// flow lets time pass, but not beyond what is due.
func (s *Skipper) flow(ctx context.Context, d time.Duration) {
	now := s.Clock.Now()
	to := now.Add(d)
	sooner := func(at time.Time, ok bool) {
		if ok && at.Before(to) {
			to = at
		}
	}
	sooner(s.known.Next.Add(-s.lead), !s.known.Next.IsZero())
	sooner(s.Clock.Next())
	sooner(s.Wakes.Next())
	sooner(s.Deadlines.Next())
	if to.Before(now) {
		to = now
	}
	if err := s.ask(ctx, Order{To: s.theirs(to), Flow: true}); err == nil {
		s.Clock.Advance(to)
	}
}

// theirs is a moment by the plane's clock.
func (s *Skipper) theirs(t time.Time) time.Time { return t.Add(s.lead) }

func linger(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
