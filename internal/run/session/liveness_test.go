package session

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// TestPulse lets API servers answer at their pace. In is how long an answer
// takes at a time since the beginning; negative means that the connection is
// refused at once.
func TestPulse(t *testing.T) {
	const hangs, limit = time.Hour, 30 * time.Second
	between := func(from, to, in time.Duration) func(time.Duration) time.Duration {
		return func(at time.Duration) time.Duration {
			if at < from || at >= to {
				return time.Millisecond
			}
			return in
		}
	}
	for name, tc := range map[string]struct {
		in     func(at time.Duration) time.Duration
		silent bool
		// lag is how long the clock stood still after five minutes, within 5 s.
		lag time.Duration
	}{
		"answers": {between(0, 0, 0), false, 0},
		// Five questions are answered within four seconds, then six pass without.
		"is slow":                           {between(0, hangs, 9*time.Second), false, 95 * time.Second},
		"stutters":                          {between(time.Minute, time.Minute+2*time.Second, hangs), false, 0},
		"hangs for a while":                 {between(time.Minute, time.Minute+20*time.Second, hangs), false, 17 * time.Second},
		"refuses for a while":               {between(time.Minute, time.Minute+20*time.Second, -1), false, 17 * time.Second},
		"hangs":                             {between(time.Minute, hangs, hangs), true, 0},
		"refuses":                           {between(time.Minute, hangs, -1), true, 0},
		"has never answered":                {between(0, hangs, hangs), true, 0},
		"answers in time before it is late": {between(time.Minute, time.Minute+29*time.Second, -1), false, 26 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c := NewClock(time.Now)
				p := &Liveness{Clock: c, Now: time.Now, Limit: limit, Ask: func(ctx context.Context) error {
					in := tc.in(time.Since(began))
					if in < 0 {
						return errors.New("refused")
					}
					select {
					case <-time.After(in):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				d := p.Watch(ctx)
				if (d > 0) != tc.silent || tc.silent && (d < limit || d > limit+livenessPatience) {
					t.Errorf("silent for %s", d)
				}
				if lag := time.Since(began) - c.Since(began); !tc.silent && (lag < tc.lag-5*time.Second || lag > tc.lag+5*time.Second) {
					t.Errorf("the clock stood still for %s, want about %s", lag, tc.lag)
				}
				synctest.Wait()
			})
		})
	}
}

// Whatever the API server says is an answer.
func TestAskReady(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	ask, err := AskReady(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context()); err != nil {
		t.Errorf("an API server that is not ready: %v", err)
	}
	server.Close()
	if ask(t.Context()) == nil {
		t.Error("an API server that is gone answers")
	}
}
