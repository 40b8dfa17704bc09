package confine

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"
)

// Call is something to compute in a worker.
type Call struct {
	Method  string
	Request []byte
	// Answer gives the worker what it asks for. It is called from one goroutine at a
	// time; ctx ends with the call. Calls that it makes itself with that ctx get
	// workers beyond the size of the pool, so that calls cannot wait for each other.
	Answer func(ctx context.Context, operation string, request []byte) ([]byte, error)
	// Time is how much CPU time the call may take. The time by the clock, answers not
	// counted, is bounded by patience times that: a busy machine makes no error.
	Time time.Duration
}

// patience times the CPU time of a call is its time by the clock.
const patience = 4

// Pool keeps workers. The zero value works: workers are started when they are
// needed, as many as there are cores, and end with the process. It is safe for
// concurrent use.
type Pool struct {
	once  sync.Once
	slots chan struct{}

	mu   sync.Mutex
	mode Mode
	used func(Confinement)
	idle []*worker
	// warm hands over the workers that Warm starts; pending is how many nobody waits
	// for yet.
	warm    chan *worker
	pending int
}

// Configure says how much confinement the workers get that are used from now on;
// empty is Auto. used, where not nil, is told once what holds the next of them.
func (p *Pool) Configure(mode Mode, used func(Confinement)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cmp.Or(mode, Auto) != cmp.Or(p.mode, Auto) {
		p.end() // they were started with another mode
	}
	p.mode, p.used = mode, used
}

// Mode is how much confinement the workers get that are started from now on.
func (p *Pool) Mode() Mode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.mode, Auto)
}

// Close ends the workers that are idle.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *Pool) end() {
	for ; p.pending > 0; p.pending-- {
		if w := <-p.warm; w != nil {
			p.idle = append(p.idle, w)
		}
	}
	for _, w := range p.idle {
		w.kill()
		<-w.ended
	}
	p.idle, p.warm = nil, nil
}

type nestedKey struct{}

// Do makes a call. The error is a *LimitError, *MethodError or *UnconfinedError,
// the cause of ctx, or why no worker can be started.
func (p *Pool) Do(ctx context.Context, call Call) ([]byte, error) {
	p.once.Do(func() { p.slots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0))) })
	if ctx.Value(nestedKey{}) == nil {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	w, err := p.worker(ctx)
	if err != nil {
		return nil, err
	}
	result, alive, err := w.do(context.WithValue(ctx, nestedKey{}, true), call)
	if alive {
		p.mu.Lock()
		p.idle = append(p.idle, w)
		p.mu.Unlock()
	}
	return result, err
}

// worker takes an idle worker or starts one.
func (p *Pool) worker(ctx context.Context) (*worker, error) {
	mode := p.Mode()
	w := p.take()
	if w == nil {
		var err error
		if w, err = p.warmed(ctx); err != nil {
			return nil, err
		}
		if w == nil {
			if w, err = start(ctx, mode); err != nil {
				return nil, err
			}
		}
	}
	p.mu.Lock()
	used := p.used
	p.used = nil
	p.mu.Unlock()
	if used != nil {
		used(w.confinement)
	}
	if mode == Required && !w.confinement.Full() {
		w.kill()
		return nil, &UnconfinedError{w.confinement}
	}
	return w, nil
}

// Warm starts as many workers as will be used at once, while other work goes on. It
// takes 0.1 s of CPU time to start one.
func (p *Pool) Warm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.warm != nil {
		return
	}
	p.pending = max(1, runtime.GOMAXPROCS(0))
	p.warm = make(chan *worker, p.pending)
	mode := cmp.Or(p.mode, Auto)
	for range p.pending {
		go func() {
			w, err := start(context.Background(), mode)
			if err != nil {
				w = nil // whoever needs one is told when it starts its own
			}
			p.warm <- w
		}()
	}
}

// warmed waits for a worker that Warm starts; nil where there is none.
func (p *Pool) warmed(ctx context.Context) (*worker, error) {
	p.mu.Lock()
	if p.pending == 0 {
		p.mu.Unlock()
		return nil, nil
	}
	p.pending--
	warm := p.warm
	p.mu.Unlock()
	select {
	case w := <-warm:
		return w, nil
	case <-ctx.Done():
		p.mu.Lock()
		p.pending++
		p.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// take returns an idle worker that lives; nil where there is none.
func (p *Pool) take() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		select {
		case <-w.ended:
		default:
			return w
		}
	}
	return nil
}

// Confinement starts a worker if there is none and returns what holds it.
func (p *Pool) Confinement(ctx context.Context) (Confinement, error) {
	w, err := p.worker(ctx)
	if err != nil {
		return Confinement{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
	return w.confinement, nil
}
