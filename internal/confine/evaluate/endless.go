package evaluate

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// maxEndless bounds how many questions are remembered, of 32 bytes each.
const maxEndless = 10_000

// endless are the questions that took all the time they may take. After the second
// time they are not asked again: a health check that never ends would otherwise cost a
// second of CPU time whenever anybody looks at its object, and a rollout looks again
// and again.
var endless = memory{seen: map[[sha256.Size]byte]int{}}

// tries is how often a question is asked: a busy machine can be the reason once.
const tries = 2

// memory counts identities, a bounded number of them.
type memory struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]int
}

// holds asks for the identity only where anything is remembered, which is rare.
func (m *memory) holds(id func() [sha256.Size]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.seen) > 0 && m.seen[id()] >= tries
}

func (m *memory) add(id [sha256.Size]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) >= maxEndless {
		clear(m.seen)
	}
	m.seen[id]++
}

// timed is a question that says what time it is.
type timed interface{ AtAnyTime() any }

// identity is the same for questions that differ in nothing but their time. body is
// the question in JSON.
func identity(method string, question any, body []byte) [sha256.Size]byte {
	if q, ok := question.(timed); ok {
		if same, err := json.Marshal(q.AtAnyTime()); err == nil {
			body = same
		}
	}
	return sha256.Sum256(append([]byte(method+"\n"), body...))
}

func overTime(limit time.Duration) error { return fmt.Errorf("ran longer than %s", limit) }
