package confine

import "sync"

// ahead is a process that was started before the pool wanted one.
var ahead early

type early struct {
	mu     sync.Mutex
	worker *worker
}

// Ahead starts the process of the first worker, for any pool whose mode is not Off. It is
// for the initialisation of a program: that of the worker, which is the same, takes as
// long, and goes on meanwhile. The program must call Serve, whose turn has not come yet. A
// failure is left to the pool, which starts its own.
func Ahead() {
	ahead.mu.Lock()
	defer ahead.mu.Unlock()
	self, err := executable()
	if err != nil {
		return
	}
	if w, err := spawn(self, Auto); err == nil {
		ahead.worker = w
	}
}

// take returns the process, or nil where there is none for the mode.
func (e *early) take(mode Mode) *worker {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.worker
	e.worker = nil
	if w != nil && mode == Off {
		w.kill()
		w = nil
	}
	return w
}
