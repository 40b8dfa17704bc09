package fence

import (
	"context"
	"sync"
	"time"
)

// RequestTimeout bounds a request that writes, from when the API server has it to when
// it may still take effect. It is a second longer than what API servers allow. Source:
// k8s.io/apiserver, endpoints/handlers, requestTimeoutUpperBound.
const RequestTimeout = 35 * time.Second

// Fence lets writes pass while a lease lasts. A new one lets nothing pass.
type Fence struct {
	clock Clock
	// gone ends with the lease, for good.
	gone context.Context
	end  context.CancelCauseFunc
	// sending is full while bytes are handed over.
	sending chan struct{}

	mu    sync.Mutex
	until time.Duration
	// moved is closed, and replaced, when until moves.
	moved chan struct{}
	// underWay counts the requests that have passed and have not returned.
	underWay int
}

// New returns a fence whose times are by a clock.
func New(clock Clock) *Fence {
	f := &Fence{clock: clock, sending: make(chan struct{}, 1), moved: make(chan struct{})}
	f.gone, f.end = context.WithCancelCause(context.Background())
	return f
}

// Extend says until when the lease lasts.
func (f *Fence) Extend(until time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.until = until
	close(f.moved)
	f.moved = make(chan struct{})
}

// End lets nothing pass any more, and gives up what is under way. idle is set where
// that was nothing.
func (f *Fence) End(why error) (idle bool) {
	f.end(why)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.underWay == 0
}

// left is how much longer writes may pass, and a channel that is closed when that
// changes.
func (f *Fence) left() (time.Duration, <-chan struct{}) {
	now := f.clock() // it may take long, when the process is stopped in it
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone.Err() != nil {
		return 0, f.moved
	}
	return f.until - now, f.moved
}

// Pass waits until a request may write. The context it returns ends when the lease
// does, and after RequestTimeout; done must be called when the request has returned.
// The error says why it will never write, or that ctx has ended.
func (f *Fence) Pass(ctx context.Context) (within context.Context, done func(), err error) {
	for {
		left, moved := f.left()
		if left > 0 && f.enter() {
			within, done = f.within(ctx, left)
			return within, done, nil
		}
		select {
		case <-moved:
		case <-f.gone.Done():
			return nil, nil, context.Cause(f.gone)
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// enter counts a request as under way, unless the lease is gone: End sees each that
// has entered.
func (f *Fence) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone.Err() != nil {
		return false
	}
	f.underWay++
	return true
}

// within bounds a request that has entered.
func (f *Fence) within(ctx context.Context, left time.Duration) (context.Context, func()) {
	ctx, giveUp := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, RequestTimeout, errNoAnswer)
	stop := context.AfterFunc(f.gone, func() { giveUp(context.Cause(f.gone)) })
	go func() {
		for left > 0 { // it grows when the lease is renewed
			select {
			case <-ctx.Done():
				return
			case <-time.After(left):
			}
			left, _ = f.left()
		}
		giveUp(errTooLate)
	}()
	return ctx, sync.OnceFunc(func() {
		f.mu.Lock()
		f.underWay--
		f.mu.Unlock()
		stop()
		cancel()
		giveUp(nil)
	})
}

// send hands bytes over, if the lease lasts. One caller at a time is in it, and what
// it hands over is the only thing that a process can still write which is stopped here
// and wakes up late.
func (f *Fence) send(hand func(left time.Duration) (int, error)) (int, error) {
	f.sending <- struct{}{}
	defer func() { <-f.sending }()
	left, _ := f.left()
	if left <= 0 {
		return 0, errTooLate
	}
	return hand(left)
}

// What is given up has timed out, for those who ask, and can be tried again.
var (
	errTooLate  error = timeout("the request was given up: the lease of the rollout was not renewed in time")
	errNoAnswer error = timeout("the API server did not answer within " + RequestTimeout.String())
)

// timeout implements net.Error.
type timeout string

func (t timeout) Error() string   { return string(t) }
func (t timeout) Timeout() bool   { return true }
func (t timeout) Temporary() bool { return true }
