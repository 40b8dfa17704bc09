package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// removals is what the engine knows of components that it does not roll out.
type removals struct {
	mu sync.Mutex
	// others are the inventories of components that are not part of the rollout,
	// those of other platforms included.
	others map[owner]inventory
	// sequence is the greatest place in the order of application.
	sequence int
	// waiting is what the deletions that go on wait for, by component.
	waiting map[string]executor.Observation
}

// remember keeps an inventory that was read.
func (e *Engine) remember(inv inventory) {
	r := &e.removals
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence = max(r.sequence, inv.Sequence)
	if e.components[inv.Component] == nil || inv.Scope != e.config.Scope {
		r.others[inv.owner()] = inv
	}
}

// stamp notes in the inventory of a component, before its first object is
// applied, what its removal will need when the repository lacks it.
func (e *Engine) stamp(inv *inventory, c *component) {
	inv.Scope, inv.Requires = e.config.Scope, e.config.Requires[c.name]
	inv.HookObjects = merge(hookItems(c.tasks), inv.HookObjects)
	if inv.Sequence > 0 {
		return
	}
	e.removals.mu.Lock()
	defer e.removals.mu.Unlock()
	e.removals.sequence++
	inv.Sequence = e.removals.sequence
}

// hookItems lists the hooks of a component.
func hookItems(tasks []*task) []inventoryItem {
	var out []inventoryItem
	for _, t := range tasks {
		if t.hook {
			out = append(out, itemOf(t))
		}
	}
	return out
}

// other is the inventory of a component of this platform that is not part of the
// rollout.
func (e *Engine) other(name string) (inv inventory, ok bool) {
	e.removals.mu.Lock()
	defer e.removals.mu.Unlock()
	inv, ok = e.removals.others[e.own(name)]
	return inv, ok
}

// inventories are those of every component that is known, the rollout's included,
// by name and platform.
func (e *Engine) inventories() []inventory {
	var out []inventory
	for _, c := range e.components {
		inv := c.getInventory()
		inv.Component, inv.Scope = c.name, e.config.Scope
		// What is rendered counts as there, whether or not it is applied already.
		inv.Objects = merge(items(c.tasks), inv.Objects)
		inv.HookObjects = merge(hookItems(c.tasks), inv.HookObjects)
		out = append(out, inv)
	}
	e.removals.mu.Lock()
	for _, inv := range e.removals.others {
		out = append(out, inv)
	}
	e.removals.mu.Unlock()
	slices.SortFunc(out, func(a, b inventory) int {
		return cmp.Or(cmp.Compare(a.Component, b.Component), cmp.Compare(a.Scope, b.Scope))
	})
	return out
}

// Remove implements executor.Engine. Objects are deleted wave by wave and kind by
// kind, in the foreground: an object counts as gone only when what it owns is,
// so that a workload has stopped before what it needs is deleted.
func (e *Engine) Remove(ctx context.Context, name string) ([]finding.Resource, error) {
	if e.components[name] != nil {
		return nil, fmt.Errorf("component %s is part of this rollout and is not removed", name)
	}
	if err := e.loadInventories(ctx); err != nil {
		return nil, err
	}
	inv, ok := e.other(name)
	if !ok {
		return nil, nil // it was removed before, or is another platform's
	}
	defer e.tellRemoval(name, finding.Resource{}, "")
	found, left, err := e.survey(ctx, inv)
	if err != nil {
		return nil, err
	}
	if err := e.refuse(ctx, name, found); err != nil {
		return nil, err
	}
	for _, group := range cut(found, func(a, b doomed) bool { return a.place == b.place && a.item.Kind == b.item.Kind }) {
		if err := e.deleteAll(ctx, name, group); err != nil {
			return nil, err
		}
	}
	return left, e.dropInventory(ctx, name)
}

// deleteAll deletes objects together and returns when all are gone.
func (e *Engine) deleteAll(ctx context.Context, component string, group []doomed) error {
	errs := make([]error, len(group))
	var deletions errgroup.Group
	deletions.SetLimit(16)
	for i, d := range group {
		deletions.Go(func() error {
			errs[i] = e.deleteOne(ctx, component, d)
			return nil
		})
	}
	_ = deletions.Wait() // every deletion keeps its own error
	return errors.Join(errs...)
}

// deleteOne deletes one very object and returns when it is gone. Its finalizers
// are left to whoever put them there.
func (e *Engine) deleteOne(ctx context.Context, component string, d doomed) error {
	r, uid := d.item.resource(), d.live.GetUID()
	return objectError(r, nil, e.Delete(ctx, e.resourceFor(d.mapping, r.Namespace), r.Name, &uid, func(live *unstructured.Unstructured) {
		e.tellRemoval(component, r, shorten(r.Human()+" is being deleted"+heldBy(live)))
	}))
}

// tellRemoval has Watch report what a deletion waits for; an empty message ends
// that.
func (e *Engine) tellRemoval(component string, object finding.Resource, message string) {
	e.removals.mu.Lock()
	if message == "" {
		delete(e.removals.waiting, component)
	} else {
		e.removals.waiting[component] = executor.Observation{
			Component: component, Health: rollout.Progressing, Object: object, Message: message, At: e.config.Clock.Now(),
		}
	}
	e.removals.mu.Unlock()
	e.dirty.add(component)
}

// reportRemoval tells what the deletion of a component that is not part of the
// rollout waits for.
func (e *Engine) reportRemoval(component string, sink func(executor.Observation)) {
	e.removals.mu.Lock()
	seen, ok := e.removals.waiting[component]
	e.removals.mu.Unlock()
	if ok {
		sink(seen)
	}
}

// dropInventory forgets a component of which nothing is left.
func (e *Engine) dropInventory(ctx context.Context, name string) error {
	m, err := e.lookup(ctx, configMapKind())
	if err != nil {
		return fmt.Errorf("delete inventory: %w", err)
	}
	r := finding.Resource{Kind: "ConfigMap", Namespace: inventoryNamespace, Name: e.own(name).inventoryName()}
	if err := e.remove(ctx, m, r, nil); err != nil {
		return err
	}
	e.removals.mu.Lock()
	defer e.removals.mu.Unlock()
	delete(e.removals.others, e.own(name))
	return nil
}
