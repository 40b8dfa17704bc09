package confine

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Call is something to compute in a worker.
type Call struct {
	Method  string
	Request []byte
	// Answer gives the worker what it asks for. It is called from one goroutine at a
	// time; ctx ends with the call. Calls that it makes itself with that ctx begin at
	// once, whatever the pool is at, so that calls cannot wait for each other. A call
	// that is made again asks again.
	Answer func(ctx context.Context, operation string, request []byte) ([]byte, error)
	// Together lets a worker be at other calls at the same time. Without it, a worker is
	// at one such call at a time, beside any number of those that have it: its method
	// may use what the whole process shares. Where a worker ends in the middle of
	// several calls, each is made again in a worker of its own, so that one call cannot
	// be the end of another.
	Together bool
	// Time is how much CPU time the call may take. The time by the clock, answers not
	// counted, is bounded by patience times that: a busy machine makes no error.
	Time time.Duration
}

// patience times the CPU time of a call is its time by the clock.
const patience = 4

// Pool keeps workers. The zero value works: a worker is started when it is needed, as
// many calls are made at once as there are cores, and workers end with the process.
// It is safe for concurrent use.
type Pool struct {
	once  sync.Once
	slots chan struct{}

	mu      sync.Mutex
	mode    Mode
	used    func(Confinement)
	members []*member
}

// member is a worker of a pool. Pool.mu guards calls, alone and series.
type member struct {
	// started is closed when the worker is confined, or err says why it is not.
	started chan struct{}
	worker  *worker
	err     error

	calls  int
	alone  bool // the call that it is at is for a worker of its own
	series bool // one of its calls is not Together
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

// Close ends the workers.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *Pool) end() {
	for _, m := range p.members {
		<-m.started
		if m.worker != nil {
			m.worker.kill()
			<-m.worker.ended
		}
	}
	p.members = nil
}

type nestedKey struct{}

// calls are under way in this process.
var calls atomic.Int64

// Busy reports whether a worker of this process has something to do, or should: this
// process itself then only waits.
func Busy() bool { return calls.Load() > 0 }

// Do makes a call. The error is a *LimitError, *MethodError or *UnconfinedError,
// the cause of ctx, or why no worker can be started.
func (p *Pool) Do(ctx context.Context, call Call) ([]byte, error) {
	calls.Add(1)
	defer calls.Add(-1)
	p.once.Do(func() { p.slots = make(chan struct{}, max(1, runtime.GOMAXPROCS(0))) })
	if ctx.Value(nestedKey{}) == nil {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	result, err := p.do(ctx, call, false)
	if errors.Is(err, errTogether) {
		return p.do(ctx, call, true)
	}
	return result, err
}

func (p *Pool) do(ctx context.Context, call Call, alone bool) ([]byte, error) {
	for {
		m := p.join(call, alone)
		w, err := p.confined(ctx, m)
		if err != nil {
			p.leave(m, call)
			return nil, err
		}
		taken := w.take(call)
		if taken == nil { // it has ended since
			p.leave(m, call)
			continue
		}
		result, err := w.do(context.WithValue(ctx, nestedKey{}, true), taken)
		w.leave(taken)
		p.leave(m, call)
		return result, err
	}
}

// join finds a worker for a call, or starts one.
func (p *Pool) join(call Call, alone bool) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prune()
	var m *member
	for _, one := range p.members {
		if !one.alone && (call.Together || !one.series) && (!alone || one.calls == 0) {
			m = one
			break
		}
	}
	if m == nil {
		m = p.start()
	}
	m.calls++
	m.alone = alone
	m.series = m.series || !call.Together
	return m
}

func (p *Pool) leave(m *member, call Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.calls--
	m.alone = false
	m.series = m.series && call.Together
}

// gone reports whether a worker has ended or could not be started.
func (m *member) gone() bool {
	select {
	case <-m.started:
		return m.err != nil || m.worker.gone()
	default:
		return false
	}
}

// start starts a worker while other work goes on. Pool.mu is held.
func (p *Pool) start() *member {
	m := &member{started: make(chan struct{})}
	p.members = append(p.members, m)
	mode := cmp.Or(p.mode, Auto)
	go func() {
		defer close(m.started)
		w := ahead.take(mode)
		var err error
		if w == nil {
			var path string
			if path, err = program(); err == nil {
				w, err = spawn(path, mode)
			}
		}
		if err == nil {
			err = w.greet()
		}
		if m.err = err; err == nil {
			m.worker = w
		}
	}()
	return m
}

// confined waits until a worker is confined.
func (p *Pool) confined(ctx context.Context, m *member) (*worker, error) {
	select {
	case <-m.started:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if m.err != nil {
		return nil, m.err
	}
	p.mu.Lock()
	used, mode := p.used, p.mode
	p.used = nil
	p.mu.Unlock()
	if used != nil {
		used(m.worker.confinement)
	}
	if mode == Required && !m.worker.confinement.Full() {
		return nil, &UnconfinedError{m.worker.confinement}
	}
	return m.worker, nil
}

// Warm starts a worker while other work goes on, where there is none. It takes 0.1 s of
// CPU time to start one.
func (p *Pool) Warm() { p.first() }

func (p *Pool) first() *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prune(); len(p.members) > 0 {
		return p.members[0]
	}
	return p.start()
}

// prune forgets workers that have ended. Pool.mu is held.
func (p *Pool) prune() { p.members = slices.DeleteFunc(p.members, (*member).gone) }

// Confinement starts a worker if there is none and returns what holds it.
func (p *Pool) Confinement(ctx context.Context) (Confinement, error) {
	w, err := p.confined(ctx, p.first())
	if err != nil {
		return Confinement{}, err
	}
	return w.confinement, nil
}
