package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/executor"
)

// settle is how long changes of a component are gathered before it is looked
// at: short against the reaction times that people see, long against the burst
// of events that one change causes.
const settle = 10 * time.Millisecond

// firstSight is how long Watch waits at most for its watches to have seen what
// is there before it reports for the first time.
const firstSight = 20 * time.Second

// Watch implements executor.Engine.
func (e *Engine) Watch(ctx context.Context, sink func(executor.Observation)) error {
	if err := e.loadInventories(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if err := e.watchServedKinds(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	e.observer.wait(ctx, firstSight)
	e.watching.Store(true)
	defer e.watching.Store(false)
	for name, c := range e.components {
		c.forgetTold()
		e.dirty.add(name)
	}
	// Smokes of this watch end with it.
	var smokes sync.WaitGroup
	defer smokes.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.dirty.ready:
		}
		for _, name := range e.dirty.take() {
			if ctx.Err() != nil {
				return nil
			}
			if c := e.components[name]; c != nil {
				e.report(ctx, c, &smokes, sink)
			} else {
				e.reportRemoval(name, sink)
			}
		}
		if Pause(ctx, e.config.Server, settle) != nil {
			return nil
		}
	}
}

// watchServedKinds starts the watches of the kinds in use that are served
// already, and of the support kinds.
func (e *Engine) watchServedKinds(ctx context.Context) error {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, gvk := range supportKinds() {
		kinds[gvk] = true
	}
	for _, c := range e.components {
		for _, t := range c.tasks {
			kinds[t.object.GroupVersionKind()] = true
		}
	}
	for gvk := range kinds {
		m, err := e.lookup(ctx, gvk)
		switch {
		case Unserved(err):
			continue // its watch starts when it is applied
		case err != nil && slices.Contains(supportKinds(), gvk):
			return fmt.Errorf("watch %s: %w", gvk.Kind, err)
		case err != nil:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue // an aggregated API that is down: the same
		}
		e.observer.watch(gvk, m)
	}
	return nil
}

// report looks at one component and tells what changed.
func (e *Engine) report(ctx context.Context, c *component, smokes *sync.WaitGroup, sink func(executor.Observation)) {
	now := e.config.Clock.Now()
	seen := c.observe(ctx, e.observer, e.config.Revision, now)
	if ctx.Err() != nil {
		return
	}
	if len(c.model.Smoke) > 0 && seen.Revision == e.config.Revision {
		e.withSmoke(ctx, c, &seen, smokes)
	}
	c.mu.Lock()
	before, told := c.last, c.told
	c.last, c.told = seen, true
	c.mu.Unlock()
	before.At = seen.At
	if !told || before != seen {
		sink(seen)
	}
}

// dirtySet is the set of components to look at.
type dirtySet struct {
	mu    sync.Mutex
	names map[string]bool
	ready chan struct{} // holds a token while the set is not empty
}

func newDirtySet() *dirtySet {
	return &dirtySet{names: map[string]bool{}, ready: make(chan struct{}, 1)}
}

func (d *dirtySet) add(name string) {
	d.mu.Lock()
	d.names[name] = true
	d.mu.Unlock()
	select {
	case d.ready <- struct{}{}:
	default:
	}
}

// take empties the set, in the order of the names.
func (d *dirtySet) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make([]string, 0, len(d.names))
	for name := range d.names {
		names = append(names, name)
	}
	clear(d.names)
	slices.Sort(names)
	return names
}
