package confine

import (
	"slices"
	"strings"
	"sync"
)

// said keeps the end of what a worker prints during a call: there the Go runtime says
// why it ends, and shows a hundred calls of a stack at most. It is safe for concurrent
// use.
type said struct {
	mu   sync.Mutex
	text []byte
}

const maxSaid = 64 << 10 // bytes

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p[max(0, len(p)-maxSaid):]...)
	s.text = slices.Delete(s.text, 0, max(0, len(s.text)-maxSaid))
	return len(p), nil
}

// forget drops what was kept.
func (s *said) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = s.text[:0]
}

// String returns what was kept.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// outOfMemory recognises what the Go runtime says, and that of the race detector, when
// there is no more memory. The garbage collector of Go 1.26 does not look whether it
// got memory for its queue of spans: it reads address 0 then.
func outOfMemory(text string) bool {
	if strings.HasPrefix(text, "SIGSEGV") && strings.Contains(text, "addr=0x0\n") && strings.Contains(text, "runtime.(*spanQueue)") {
		return true
	}
	return slices.ContainsFunc([]string{"out of memory", "allocate memory", "cannot map pages", "failed to allocate", "cannot reserve", "failed to reserve", "new OS thread", "newosproc", "pthread_create failed", "errno=12"},
		func(words string) bool { return strings.Contains(text, words) })
}
