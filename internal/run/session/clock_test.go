package session

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestStandingClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := NewClock(time.Now)
		timer, other := c.NewTimer(10*time.Second), c.NewTimer(5*time.Second)
		if !other.Stop() || other.Stop() {
			t.Error("a timer that is stopped once was armed, twice was not")
		}
		time.Sleep(4 * time.Second)
		c.hold()
		time.Sleep(time.Hour)
		c.hold() // stopped already
		if d := c.Since(began); d != 4*time.Second {
			t.Errorf("stopped at 4 s, it says %s", d)
		}
		select {
		case <-timer.C():
			t.Error("a timer ended while its clock stood still")
		case <-other.C():
			t.Error("a stopped timer ended")
		default:
		}
		c.let()
		c.let()
		<-timer.C()
		if d := c.Since(began); d < 10*time.Second || d > 10*time.Second+recheck {
			t.Errorf("the timer of 10 s ended at %s", d)
		}
		if timer.Reset(time.Second) {
			t.Error("a timer that has ended was still armed")
		}
		<-timer.C()
		before := c.Now()
		c.Sleep(time.Minute)
		if d := c.Since(before); d != time.Minute {
			t.Errorf("slept %s", d)
		}
	})
}
