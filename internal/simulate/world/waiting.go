package world

import (
	"maps"
	"slices"
	"sync"
)

// Ref names an object that something waits for. Kind is the kind, with
// "group/" before it outside the core group.
type Ref struct{ Kind, Namespace, Name string }

// Waiting remembers who waits for what, so that a waiter is looked at again as
// soon as the object it waits for changes. The zero value is ready to use.
type Waiting struct {
	mu    sync.Mutex
	byRef map[Ref]map[string]struct{}
	byKey map[string][]Ref
}

// Set replaces what the waiter waits for.
func (w *Waiting) Set(waiter string, refs []Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.byKey[waiter] {
		delete(w.byRef[r], waiter)
		if len(w.byRef[r]) == 0 {
			delete(w.byRef, r)
		}
	}
	delete(w.byKey, waiter)
	for _, r := range refs {
		w.add(waiter, r)
	}
}

// Add has the waiter wait for one object more. Who looks for an object adds it
// first, so that it is told of one that appears while it looks.
func (w *Waiting) Add(waiter string, r Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(waiter, r)
}

func (w *Waiting) add(waiter string, r Ref) {
	if w.byRef == nil {
		w.byRef, w.byKey = map[Ref]map[string]struct{}{}, map[string][]Ref{}
	}
	if w.byRef[r] == nil {
		w.byRef[r] = map[string]struct{}{}
	}
	w.byRef[r][waiter] = struct{}{}
	w.byKey[waiter] = append(w.byKey[waiter], r)
}

// OnKind lists who waits for objects of the kind, sorted.
func (w *Waiting) OnKind(kind string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiters := map[string]struct{}{}
	for r, by := range w.byRef {
		if r.Kind == kind {
			maps.Copy(waiters, by)
		}
	}
	return slices.Sorted(maps.Keys(waiters))
}

// On lists who waits for the object, sorted.
func (w *Waiting) On(r Ref) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.byRef[r]))
}
