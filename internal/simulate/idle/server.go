package idle

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/plane/quiet"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

const (
	// lease is for how long the clock stands still after the last order: a plane
	// that is kept must live on when its rehearsal was killed.
	lease = 15 * time.Second
	// patience is how long an order may wait until all is quiet.
	patience = time.Second
	// longestOrder bounds the body of a request, in bytes.
	longestOrder = 4096
)

// Server is the plane's side.
type Server struct {
	// Clock is that of the simulated world.
	Clock *simtime.Clock
	// Pace is that of the real timers which run at the moment; see Answer.
	Pace func() (pace float64, pending bool)

	mu    sync.Mutex
	ended *time.Timer
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only POST is understood", http.StatusMethodNotAllowed)
		return
	}
	var order Order
	if err := json.NewDecoder(io.LimitReader(r.Body, longestOrder)).Decode(&order); err != nil {
		http.Error(w, "read the order: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer Answer
	if order.Release {
		s.release()
	} else {
		s.hold()
		answer.Moved = s.move(r, order)
		answer.Quiet = quiet.Await(r.Context(), patience, confine.Busy)
	}
	answer.Activity, answer.Now = quiet.Activity(), s.Clock.Now()
	answer.Pace, answer.Pending = s.Pace()
	if due, ok := s.Clock.Next(); ok {
		answer.Next = due
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // whoever asked is gone
}

func (s *Server) move(r *http.Request, o Order) bool {
	if o.To.IsZero() {
		return false
	}
	// All was quiet after the last order; nothing has begun since, so nothing goes on.
	if !o.Flow && (quiet.Activity() != o.Seen || !quiet.Now(confine.Busy) && !quiet.Await(r.Context(), patience, confine.Busy) || quiet.Activity() != o.Seen) {
		return false
	}
	s.Clock.Advance(o.To)
	return true
}

func (s *Server) hold() {
	s.Clock.Hold(true)
	if s.ended == nil {
		s.ended = time.AfterFunc(lease, func() { s.Clock.Hold(false) })
	} else {
		s.ended.Reset(lease)
	}
}

func (s *Server) release() {
	if s.ended != nil {
		s.ended.Stop()
	}
	s.Clock.Hold(false)
}
