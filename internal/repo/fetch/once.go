package fetch

import (
	"context"
	"sync"
)

// once finds out each thing one time in a run: who asks meanwhile waits for the
// answer, and who asks later gets the same.
type once[T any] struct {
	mu    sync.Mutex
	known map[string]*answer[T]
}

type answer[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// get returns what is known under a key, or finds it out. What was broken off by
// its context is forgotten, so that another context may try it again.
func (o *once[T]) get(ctx context.Context, key string, find func() (T, error)) (T, error) {
	for {
		o.mu.Lock()
		a, ok := o.known[key]
		if !ok {
			if o.known == nil {
				o.known = map[string]*answer[T]{}
			}
			a = &answer[T]{done: make(chan struct{})}
			o.known[key] = a
			o.mu.Unlock()
			a.value, a.err = find()
			if ctx.Err() != nil {
				o.mu.Lock()
				delete(o.known, key)
				o.mu.Unlock()
			}
			close(a.done)
			return a.value, a.err
		}
		o.mu.Unlock()
		select {
		case <-a.done:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
		o.mu.Lock()
		kept := o.known[key] == a
		o.mu.Unlock()
		if kept {
			return a.value, a.err
		}
	}
}
