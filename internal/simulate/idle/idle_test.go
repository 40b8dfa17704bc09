package idle

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

// stand is a plane and a rollout without anything but their clocks.
type stand struct {
	world   *simtime.Clock
	skipper *Skipper

	mu      sync.Mutex
	pace    float64
	pending bool
	changed time.Time
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{world: simtime.New(60), changed: time.Now()}
	s.world.Advance(time.Now().Add(time.Hour)) // a kept plane is ahead
	server := httptest.NewServer(&Server{Clock: s.world, Pace: func() (float64, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pace, s.pending
	}})
	t.Cleanup(server.Close)
	ask, err := Over(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := simtime.New(0)
	s.skipper = &Skipper{
		Clock: c, Wakes: c.Part(), Deadlines: c.Part(), Server: &Waits{}, Ask: ask, Silence: 100 * time.Millisecond,
		Changed: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.changed
		},
	}
	return s
}

// run skips until the test ends.
func (s *stand) run(t *testing.T) {
	t.Helper()
	if err := s.skipper.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { s.skipper.Run(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
}

func await(t *testing.T, what string, c <-chan time.Time) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing came of " + what)
	}
}

// Both clocks go from one due moment to the next, in order, and show the same
// distance all the time.
func TestSkips(t *testing.T) {
	s := newStand(t)
	s.skipper.Deadlines.NewTimer(24 * time.Hour) // a component is under way
	began, theirs := s.skipper.Clock.Now(), s.world.NewTimer(10*time.Minute)
	ours := s.skipper.Wakes.NewTimer(20 * time.Minute)
	last := s.world.NewTimer(30 * time.Minute)
	s.run(t)
	await(t, "the world's first timer", theirs.C())
	await(t, "the rollout's timer", ours.C())
	if d := s.skipper.Clock.Since(began); d < 20*time.Minute || d > 30*time.Minute {
		t.Errorf("the rollout's clock is %s further, want at least 20m and at most 30m", d)
	}
	await(t, "the world's last timer", last.C())
}

// A deadline is skipped to only when nothing has changed for a while.
func TestDeadlinesWait(t *testing.T) {
	s := newStand(t)
	began := time.Now()
	deadline := s.skipper.Deadlines.NewTimer(time.Hour)
	s.run(t)
	await(t, "the deadline", deadline.C())
	if d := time.Since(began); d < s.skipper.Silence {
		t.Errorf("the deadline was skipped to after %s", d)
	}
}

// What the rollout could not see is no silence: a deadline waits until it sees again,
// but not for ever.
func TestDeadlinesWaitForSight(t *testing.T) {
	for name, blind := range map[string]time.Duration{"for a while": 200 * time.Millisecond, "for good": time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			began := time.Now()
			s.skipper.BlindAt = func() time.Time {
				now := time.Now()
				if end := began.Add(blind); now.After(end) {
					return end
				}
				return now
			}
			deadline := s.skipper.Deadlines.NewTimer(time.Hour)
			s.run(t)
			await(t, "the deadline", deadline.C())
			if d, least := time.Since(began), min(blind+s.skipper.Silence, blindness*s.skipper.Silence); d < least {
				t.Errorf("the deadline was skipped to after %s, want at least %s", d, least)
			}
		})
	}
}

// While the timer of a real controller runs, time goes at its pace.
func TestPace(t *testing.T) {
	s := newStand(t)
	s.pace, s.pending = 50, true
	s.skipper.Deadlines.NewTimer(24 * time.Hour)
	real, began := time.Now(), s.skipper.Clock.Now()
	soon := s.world.NewTimer(5 * time.Second)
	s.run(t)
	await(t, "the world's timer", soon.C())
	if simulated, most := s.skipper.Clock.Since(began), 60*time.Since(real); simulated > most {
		t.Errorf("%s passed where at most %s may", simulated, most)
	}
}

// While a real controller works by a timer that takes no simulated time, none passes.
func TestTimeStands(t *testing.T) {
	s := newStand(t)
	s.pending = true
	s.skipper.Deadlines.NewTimer(24 * time.Hour)
	began, soon := s.skipper.Clock.Now(), s.world.NewTimer(time.Second)
	s.run(t)
	select {
	case <-soon.C():
		t.Error("time was skipped")
	case <-time.After(200 * time.Millisecond):
	}
	if d := s.skipper.Clock.Since(began); d != 0 {
		t.Errorf("%s passed", d)
	}
	s.mu.Lock()
	s.pending = false
	s.mu.Unlock()
	await(t, "the world's timer", soon.C())
}

// While people are waited for, time goes as it does for them.
func TestNobodyUnderWay(t *testing.T) {
	s := newStand(t)
	began := s.skipper.Clock.Now()
	far := s.world.NewTimer(time.Hour)
	s.run(t)
	for s.skipper.Clock.Since(began) < 50*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-far.C():
		t.Error("time was skipped though nothing is under way")
	default:
	}
}

// A short real wait of the rollout is not overtaken.
func TestRealWaits(t *testing.T) {
	s := newStand(t)
	s.skipper.Deadlines.NewTimer(24 * time.Hour)
	short, due := s.skipper.Server.NewTimer(300*time.Millisecond), s.world.NewTimer(time.Minute)
	s.run(t)
	select {
	case <-due.C():
		if s.skipper.Server.Running() {
			t.Error("simulated time overtook a request that is repeated")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is skipped")
	}
	await(t, "the short wait", short.C())
}

func TestServerRefuses(t *testing.T) {
	c := simtime.New(0)
	server := &Server{Clock: c, Pace: func() (float64, bool) { return 0, false }}
	began := c.Now()
	for name, tc := range map[string]struct {
		method, body string
		want         int
	}{
		"method":       {http.MethodGet, "", http.StatusMethodNotAllowed},
		"no JSON":      {http.MethodPost, "now", http.StatusBadRequest},
		"too long":     {http.MethodPost, `{"seen": ` + strings.Repeat(" ", longestOrder) + `1}`, http.StatusBadRequest},
		"old activity": {http.MethodPost, `{"seen": -1, "to": "2099-01-01T00:00:00Z"}`, http.StatusOK},
	} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(tc.method, "/", strings.NewReader(tc.body)))
		if w.Code != tc.want {
			t.Errorf("%s: status %d, want %d", name, w.Code, tc.want)
		}
	}
	if d := c.Since(began); d != 0 {
		t.Errorf("the clock was moved by %s", d)
	}
}

func TestWaits(t *testing.T) {
	w := &Waits{}
	long := w.NewTimer(time.Hour)
	if w.Running() {
		t.Error("a long wait counts")
	}
	short := w.NewTimer(500 * time.Millisecond)
	if !w.Running() {
		t.Error("a short wait does not count")
	}
	short.Reset(time.Hour)
	if w.Running() {
		t.Error("a timer that was set anew counts for what it was")
	}
	short.Reset(time.Millisecond)
	<-short.C()
	for w.Running() {
		time.Sleep(time.Millisecond)
	}
	if !long.Stop() || short.Stop() {
		t.Error("Stop says of the wrong timer that it was stopped")
	}
}
