package world

import (
	"sync"
	"time"
)

const (
	// least is the part of its time that a thing takes where its component has used up
	// the time that is expected of it.
	least = 0.05
	// between is how much later than another thing of its component is ready one may begin
	// that begins because of it; betweenReal is the same in real time, which controllers take.
	// No sum of the delays of rules is between, so that equal rehearsals decide alike.
	between     = 5250 * time.Millisecond
	betweenReal = 250 * time.Millisecond
)

// budgets are what is left of the time that is expected of each component. That is the
// time of the component as a whole: where its pods and custom resources start one after
// the other, as those of a StatefulSet or of several sync waves do, the first takes most
// of it.
type budgets struct {
	mu         sync.Mutex
	components map[string]*budget
}

// budget is the time of one component, from when the first of it begins. ready is when
// the last of what has begun is.
type budget struct{ begins, ends, ready time.Time }

// Begin says that a pod or custom resource of a component begins now, and returns how
// long it takes, at most so long. What begins when all else of the component has been
// ready for a while is other work, with a time of its own. What belongs to no component
// has a time of its own, too.
func (w *World) Begin(component, key string, most time.Duration) time.Duration {
	alone := w.Config().Delay(component, key)
	if component == "" {
		return min(alone, most)
	}
	return w.budgets.begin(component, alone, most, w.Clock.AtLeast(between, betweenReal), w.Clock.Now())
}

func (b *budgets) begin(component string, alone, most, pause time.Duration, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.components[component]
	if of == nil || now.After(of.ready.Add(pause)) {
		if b.components == nil {
			b.components = map[string]*budget{}
		}
		of = &budget{begins: now, ends: now.Add(alone)}
		b.components[component] = of
	}
	takes := alone
	if now.After(of.begins.Add(min(pause, alone/4))) { // else it begins beside the first
		takes = min(alone, max(of.ends.Sub(now), time.Duration(least*float64(alone))))
	}
	takes = min(takes, most)
	if ready := now.Add(takes); ready.After(of.ready) {
		of.ready = ready
	}
	return takes
}

// BeginAnew gives every component the whole of its time: the configuration has changed.
func (w *World) BeginAnew() {
	w.budgets.mu.Lock()
	defer w.budgets.mu.Unlock()
	w.budgets.components = nil
}
