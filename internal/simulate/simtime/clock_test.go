package simtime

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// step lets real time pass.
func step(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begin := New(60), time.Now()
		var rang atomic.Bool
		c.AfterFunc(time.Minute, func() { rang.Store(true) })
		step(999 * time.Millisecond)
		if rang.Load() {
			t.Fatal("the timer ended too early")
		}
		step(2 * time.Millisecond)
		if !rang.Load() {
			t.Fatal("the timer did not end after a second at 60 times the real time")
		}
		if got, want := c.Since(begin), 60*1001*time.Millisecond; got != want {
			t.Errorf("the clock shows %s, want %s", got, want)
		}
		if got, want := c.Real(begin.Add(30*time.Second)), begin.Add(500*time.Millisecond); !got.Equal(want) {
			t.Errorf("the clock showed half a minute at %s, want %s", got, want)
		}
	})
}

func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begin := New(0), time.Now()
		var order []string
		c.AfterFunc(20*time.Second, func() { order = append(order, "second") })
		c.AfterFunc(10*time.Second, func() { order = append(order, "first") })
		later := c.NewTimer(time.Hour)
		step(time.Minute)
		if c.Since(begin) != 0 || len(order) > 0 {
			t.Fatalf("a clock that stands still shows %s later, and ended %v", c.Since(begin), order)
		}
		if due, ok := c.Next(); !ok || !due.Equal(begin.Add(10*time.Second)) {
			t.Fatalf("the next timer is due at %s (%v)", due, ok)
		}
		c.Advance(begin.Add(30 * time.Second))
		if !slices.Equal(order, []string{"first", "second"}) {
			t.Errorf("the timers ended in the order %v", order)
		}
		c.Advance(begin)
		if got := c.Since(begin); got != 30*time.Second {
			t.Errorf("the clock shows %s", got)
		}
		for _, at := range []time.Duration{10 * time.Second, 30 * time.Second, time.Hour} {
			if got := c.Real(begin.Add(at)); !got.Equal(begin.Add(time.Minute)) {
				t.Errorf("%s was shown at %s, want the moment of the jump", at, got)
			}
		}
		if !c.Real(begin).Equal(begin) {
			t.Error("the begin was shown at another time than the real one")
		}
		if !later.Stop() {
			t.Error("the timer of an hour has ended")
		}
		if _, ok := c.Next(); ok {
			t.Error("a timer is due though none is left")
		}
	})
}

func TestRateChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(0)
		rang, now := c.NewTimer(10*time.Second), c.NewTimer(0)
		c.SetRate(10)
		step(500 * time.Millisecond)
		<-now.C()
		c.SetRate(1)
		step(4999 * time.Millisecond)
		select {
		case <-rang.C():
			t.Fatal("the timer ended too early")
		default:
		}
		step(2 * time.Millisecond)
		<-rang.C()
	})
}

func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begin := New(60), time.Now()
		c.Hold(true)
		c.SetRate(10)
		step(time.Second)
		if got := c.Since(begin); got != 0 || c.Rate() != 0 {
			t.Errorf("a clock that is held shows %s later and goes at %v", got, c.Rate())
		}
		c.Hold(false)
		step(time.Second)
		if got := c.Since(begin); got != 10*time.Second {
			t.Errorf("a clock that was let go shows %s later", got)
		}
	})
}

func TestParts(t *testing.T) {
	c := New(0)
	begin := c.Now()
	p := c.Part()
	c.NewTimer(20 * time.Second)
	own := p.NewTimer(10 * time.Second)
	p.NewTimer(30 * time.Second)
	if due, ok := c.Next(); !ok || !due.Equal(begin.Add(20*time.Second)) {
		t.Errorf("the next timer of the clock itself is due at %s (%v)", due, ok)
	}
	if due, ok := p.Next(); !ok || !due.Equal(begin.Add(10*time.Second)) {
		t.Errorf("the next timer of the part is due at %s (%v)", due, ok)
	}
	c.Advance(begin.Add(time.Minute))
	<-own.C()
	if due, ok := p.Next(); ok {
		t.Errorf("a timer of the part is due at %s, though all have ended", due)
	}
}
