package egress

import (
	"context"
	"net"
	"sync"
)

// Switch is a WebhookBackend whose backend can be set while it is in use: the
// API server starts before the simulated world can. The zero value refuses.
type Switch struct {
	mu      sync.RWMutex
	backend WebhookBackend
}

// Set makes b answer from now on; nil refuses.
func (s *Switch) Set(b WebhookBackend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend = b
}

// Dial implements WebhookBackend.
func (s *Switch) Dial(ctx context.Context, host string) (net.Conn, error) {
	s.mu.RLock()
	b := s.backend
	s.mu.RUnlock()
	if b == nil {
		b = Refuse()
	}
	return b.Dial(ctx, host)
}
