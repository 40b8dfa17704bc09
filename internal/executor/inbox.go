package executor

import (
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// inbox is an unbounded queue of events: an engine or a sync is never held up
// by a run that is writing its state. What came together is taken together.
type inbox struct {
	mu     sync.Mutex
	events []rollout.Event
	// ready holds a token while there are events.
	ready chan struct{}
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

func (b *inbox) put(event rollout.Event) {
	b.mu.Lock()
	b.events = append(b.events, event)
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []rollout.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}
