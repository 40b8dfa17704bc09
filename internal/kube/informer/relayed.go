package informer

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// relayed is a watch that ends when nothing came through it for a while.
type relayed struct {
	inner   watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

var _ watch.Interface = (*relayed)(nil)

// relay passes the events of a watch on until it ends, is stopped or the timer,
// which every event sets back, has fired; then it calls end, which gives the
// connection up.
func relay(inner watch.Interface, silence clock.Timer, end func()) *relayed {
	r := &relayed{inner: inner, events: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(r.events)
		defer inner.Stop()
		defer end() // first: closing a dead connection may wait for it
		defer silence.Stop()
		for r.pass(silence) {
			silence.Reset(Silence)
		}
	}()
	return r
}

// pass waits for an event and passes it on; false ends the watch. That nobody
// takes an event yet is no silence.
func (r *relayed) pass(silence clock.Timer) bool {
	select {
	case event, ok := <-r.inner.ResultChan():
		if !ok {
			return false
		}
		select {
		case r.events <- event:
			return true
		case <-r.stopped:
			return false
		}
	case <-silence.C():
		return false
	case <-r.stopped:
		return false
	}
}

// ResultChan implements watch.Interface.
func (r *relayed) ResultChan() <-chan watch.Event { return r.events }

// Stop implements watch.Interface.
func (r *relayed) Stop() { r.once.Do(func() { close(r.stopped) }) }
