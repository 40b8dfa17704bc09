package world

import (
	"sync"
	"time"
)

const (
	// least is the part of its time that a thing takes where its component has used up
	// the time that is expected of it.
	least = 0.05
	// between is how much later than another thing of its component one may start that
	// starts because of it; betweenReal is the same in real time, which controllers take.
	between     = 5 * time.Second
	betweenReal = 250 * time.Millisecond
)

// budgets are what is left of the time that is expected of each component. That is the
// time of the component as a whole: where its pods and custom resources start one after
// the other, as those of a StatefulSet or of several sync waves do, the first takes most
// of it.
type budgets struct {
	mu         sync.Mutex
	components map[string]*budget
	// taken is what each thing took that has begun.
	taken map[string]time.Duration
}

// budget is the time of one component, from when the first of it begins.
type budget struct {
	begins, ends time.Time
	// ready is when the last of what has begun is.
	ready time.Time
}

// Takes returns how long a pod or custom resource of a component takes that begins now,
// or has begun. What begins when all else of the component has been ready for a while is
// other work, with a time of its own. What belongs to no component has a time of its own,
// too.
func (w *World) Takes(component, thing, key string) time.Duration {
	alone := w.Config().Delay(component, key)
	if component == "" {
		return alone
	}
	b := &w.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	if takes, ok := b.taken[thing]; ok {
		return takes
	}
	now, pause := w.Clock.Now(), w.Clock.AtLeast(between, betweenReal)
	of := b.components[component]
	if of == nil || now.After(of.ready.Add(pause)) || !now.After(of.begins.Add(pause)) {
		return alone
	}
	return min(alone, max(of.ends.Sub(now), time.Duration(least*float64(alone))))
}

// Begin says that a thing of a component begins now, and how long it takes.
func (w *World) Begin(component, thing string, takes time.Duration) {
	b := &w.budgets
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.taken[thing]; ok || component == "" {
		return
	}
	if b.taken == nil {
		b.components, b.taken = map[string]*budget{}, map[string]time.Duration{}
	}
	b.taken[thing] = takes
	now := w.Clock.Now()
	of := b.components[component]
	if of == nil || now.After(of.ready.Add(w.Clock.AtLeast(between, betweenReal))) {
		of = &budget{begins: now, ends: now.Add(takes)}
		b.components[component] = of
	}
	if ready := now.Add(takes); ready.After(of.ready) {
		of.ready = ready
	}
}

// End forgets a thing that is gone.
func (w *World) End(thing string) {
	w.budgets.mu.Lock()
	defer w.budgets.mu.Unlock()
	delete(w.budgets.taken, thing)
}

// BeginAnew gives every component the whole of its time: the configuration has changed.
func (w *World) BeginAnew() {
	w.budgets.mu.Lock()
	defer w.budgets.mu.Unlock()
	w.budgets.components, w.budgets.taken = nil, nil
}
