package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// discoveryPatience is how long a kind may take to be served after its CRD was
// established.
const discoveryPatience = 10 * time.Second

// lateKindPatience is how long a kind is waited for that something other than
// the component's own CRDs brings.
const lateKindPatience = 2 * time.Second

// Sync implements executor.Engine.
func (e *Engine) Sync(ctx context.Context, name string) error {
	c := e.components[name]
	if c == nil {
		return fmt.Errorf("component %s is not part of this rollout", name)
	}
	if err := e.loadInventories(ctx); err != nil {
		return err
	}
	c.beginSync()
	e.touch(c)
	err := e.sync(ctx, c)
	c.endSync()
	e.touch(c)
	return err
}

func (e *Engine) sync(ctx context.Context, c *component) error {
	if err := e.dryRun(ctx, c); err != nil {
		return err
	}
	inv := c.getInventory()
	rendered := items(c.tasks)
	old := inv.Objects
	if inv.Revision != "" {
		inv.Previous = inv.Revision
	}
	if inv.Run != e.config.Run {
		inv.Run, inv.Hooks = e.config.Run, nil
	}
	inv.Component, inv.Revision, inv.Objects = c.name, "", merge(rendered, old)
	e.stamp(&inv, c)
	if err := e.saveInventory(ctx, inv); err != nil {
		return err
	}
	if c.options.createNamespace && c.model.Namespace != "" && !c.rendersNamespace(c.model.Namespace) {
		if err := e.ensureNamespace(ctx, c, c.model.Namespace); err != nil {
			return err
		}
		if err := e.describeNamespace(ctx, c); err != nil {
			return err
		}
	}
	left, err := e.runPhases(ctx, c, old, rendered)
	if err != nil {
		return e.failed(ctx, c, err)
	}
	inv = c.getInventory()
	inv.Revision, inv.Previous = e.config.Revision, ""
	inv.Objects = merge(rendered, left)
	return e.saveInventory(ctx, inv)
}

// runPhases applies PreSync, Sync and PostSync, wave by wave, pruning at the end
// of Sync.
func (e *Engine) runPhases(ctx context.Context, c *component, old, rendered []inventoryItem) (left []inventoryItem, err error) {
	steps := waves(slices.DeleteFunc(slices.Clone(c.tasks), func(t *task) bool { return t.phase == manifest.SyncFail }))
	pruned := false
	for i, step := range steps {
		if step[0].phase == manifest.PostSync && !pruned {
			if left, err = e.prune(ctx, c, old, rendered); err != nil {
				return nil, err
			}
			pruned = true
		}
		// Ordinary objects of the last wave are not waited for: their health is
		// reported by Watch. Hooks always are.
		if err := e.runWave(ctx, c, step, i < len(steps)-1); err != nil {
			return nil, err
		}
	}
	if !pruned {
		return e.prune(ctx, c, old, rendered)
	}
	return left, nil
}

// failed runs the SyncFail hooks of a sync that failed, and returns why it did.
func (e *Engine) failed(ctx context.Context, c *component, cause error) error {
	if ctx.Err() != nil || !c.hasPhase(manifest.SyncFail) {
		return cause
	}
	hooks := slices.DeleteFunc(slices.Clone(c.tasks), func(t *task) bool { return t.phase != manifest.SyncFail })
	for _, step := range waves(hooks) {
		if err := e.runWave(ctx, c, step, true); err != nil {
			return withSyncFail(cause, err)
		}
	}
	return cause
}

// withSyncFail adds to an error that its SyncFail hook failed too.
func withSyncFail(cause, hook error) error {
	var object *executor.ObjectError
	if errors.As(cause, &object) {
		both := *object
		both.Message = shorten(object.Message + "; then the SyncFail hook failed: " + hook.Error())
		return &both
	}
	return fmt.Errorf("%w; then the SyncFail hook failed: %w", cause, hook)
}

// dryRun checks every object before the first one is applied: its kind must be
// served, or come with the component itself, and the server must accept it as
// far as can be told before its wave.
func (e *Engine) dryRun(ctx context.Context, c *component) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, t := range c.tasks {
		group.Go(func() error { return e.dryRunOne(ctx, c, t) })
	}
	return group.Wait()
}

func (e *Engine) dryRunOne(ctx context.Context, c *component, t *task) error {
	gvk := t.object.GroupVersionKind()
	ownCRD := e.crds[gvk.GroupKind()].component == c.name
	m, err := e.lookup(ctx, gvk)
	if Unserved(err) && (ownCRD || t.options.skipDryRun) {
		return nil
	}
	if Unserved(err) {
		m, err = e.lateLookup(ctx, gvk, 0)
	}
	if err != nil {
		return objectError(t.resource, t.object.Unstructured, err)
	}
	// A single object is applied next anyway; a hook may be made anew over one
	// that could not be changed; the schema of a CRD of the component may
	// change.
	if len(c.tasks) == 1 || t.hook || ownCRD || t.options.replace || t.options.force || t.options.noValidate {
		return nil
	}
	obj, err := e.desired(ctx, c, t, m)
	if err != nil {
		return objectError(t.resource, t.object.Unstructured, err)
	}
	err = e.Try(ctx, func() error {
		_, err := e.patch(ctx, t, obj, m, true)
		return err
	})
	if dryRunVerdict(err) {
		return objectError(t.resource, t.object.Unstructured, err)
	}
	return ctx.Err()
}

// runWave applies the tasks of one wave, kind after kind, and waits for hooks
// to finish and, where more waves follow, for objects to become Healthy.
func (e *Engine) runWave(ctx context.Context, c *component, step []*task, more bool) error {
	var first error
	var started []*task
	for _, group := range kinds(step) {
		done, err := e.applyAll(ctx, c, group)
		started = append(started, done...)
		if err != nil && first == nil {
			first = err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if first != nil {
		return first
	}
	wait := slices.DeleteFunc(started, func(t *task) bool { return !t.hook && !more })
	err := e.waitHealthy(ctx, c, wait)
	if cleanup := e.finishHooks(ctx, c, wait, err); err == nil {
		err = cleanup
	}
	return err
}

// applyAll applies the tasks of one kind together and returns those that must be
// waited for.
func (e *Engine) applyAll(ctx context.Context, c *component, tasks []*task) ([]*task, error) {
	waits := make([]bool, len(tasks))
	errs := make([]error, len(tasks))
	var group errgroup.Group
	group.SetLimit(16)
	for i, t := range tasks {
		group.Go(func() error {
			waits[i], errs[i] = e.applyTask(ctx, c, t)
			return nil
		})
	}
	_ = group.Wait() // every task keeps its own error
	var out []*task
	for i, t := range tasks {
		if errs[i] != nil {
			return out, errs[i]
		}
		if waits[i] {
			out = append(out, t)
		}
	}
	// Objects of a kind can follow only once its CRD is established.
	if tasks[0].resource.Kind == "CustomResourceDefinition" {
		return out, e.waitHealthy(ctx, c, out)
	}
	return out, nil
}

// applyTask applies one object; waits is false for a hook that has already
// succeeded in this run.
func (e *Engine) applyTask(ctx context.Context, c *component, t *task) (waits bool, err error) {
	gvk := t.object.GroupVersionKind()
	patience := time.Duration(0)
	switch {
	case e.crds[gvk.GroupKind()].component == c.name:
		patience = discoveryPatience
	case t.options.skipDryRun:
		// The kind is said to appear during the sync: a provider that the
		// component installs brings the CRD a moment after it is Healthy.
		patience = lateKindPatience
	}
	m, err := e.lateLookup(ctx, gvk, patience)
	if err != nil {
		return false, objectError(t.resource, t.object.Unstructured, err)
	}
	e.observer.watch(gvk, m)
	if t.hook {
		adopt, done, err := e.beforeHook(ctx, c, t, m)
		if err != nil || done {
			return false, err
		}
		if adopt {
			return true, nil
		}
	}
	live, err := e.adopted(ctx, t, m)
	if err != nil {
		return false, objectError(t.resource, t.object.Unstructured, err)
	}
	if live == nil {
		if live, err = e.applyLasting(ctx, c, t, m); err != nil {
			return false, err
		}
	}
	c.wasApplied(t.resource, live)
	e.observer.expect(t.resource, version(live.GetResourceVersion()))
	return true, nil
}

// beforeHook makes room for a hook. A hook of this run that is still going on,
// or has succeeded, is adopted: the run was interrupted.
func (e *Engine) beforeHook(ctx context.Context, c *component, t *task, m mapping) (adopt, done bool, err error) {
	inv := c.getInventory()
	if inv.Run == e.config.Run && slices.Contains(inv.Hooks, hookRecord(t)) {
		return false, true, nil
	}
	live, err := e.get(ctx, m, t.resource)
	if err != nil || live == nil {
		return false, false, err
	}
	if live.GetAnnotations()[runAnnotation] == e.config.Run && live.GetDeletionTimestamp() == nil {
		s := c.assess(ctx, live)
		if ctx.Err() != nil {
			return false, false, ctx.Err()
		}
		if s.Health != rollout.Degraded && s.Health != rollout.Unknown {
			c.wasApplied(t.resource, live)
			return true, false, nil
		}
	}
	if t.deletes(beforeHookCreation) {
		return false, false, e.removeTold(ctx, c, m, t.resource, nil)
	}
	return false, false, nil
}

// waitHealthy returns when every task is Healthy, or as soon as one has failed:
// a hook or Job at once, other objects when they stay Degraded.
func (e *Engine) waitHealthy(ctx context.Context, c *component, tasks []*task) error {
	if len(tasks) == 0 {
		return nil
	}
	c.waitFor(tasks)
	defer c.waitFor(nil)
	e.dirty.add(c.name)
	var degraded time.Time // since when an object is
	grace := e.config.Clock.NewTimer(e.config.DegradedGrace)
	grace.Stop()
	defer grace.Stop()
	for {
		changed := c.changes()
		waits, failed := c.unhealthy(ctx, e.observer, tasks)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed == nil {
			degraded = time.Time{}
			grace.Stop()
		} else {
			now := e.config.Clock.Now()
			if degraded.IsZero() {
				degraded = now
				grace.Reset(e.config.DegradedGrace)
			}
			if failed.task.hook || failedForGood(failed) || now.Sub(degraded) >= e.config.DegradedGrace {
				return e.verdictError(c, failed)
			}
		}
		if waits == nil {
			return nil
		}
		if waits.task.hook && waits.status.Health == rollout.Missing {
			return &executor.ObjectError{Object: waits.task.resource, Message: "hook disappeared before it had finished"}
		}
		// Explanations change without the objects themselves; nothing else should
		// need the timer.
		timer := e.config.Server.NewTimer(time.Second)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-changed:
		case <-grace.C():
		case <-timer.C():
		}
		timer.Stop()
	}
}

// verdictError words the failure of an object that a sync waited for.
func (e *Engine) verdictError(c *component, v *verdict) error {
	c.mu.Lock()
	message := c.describe(e.observer, v)
	c.mu.Unlock()
	if v.task.hook {
		message = v.task.phase.String() + " hook failed: " + message
	}
	return &executor.ObjectError{Object: v.task.resource, Message: shorten(message)}
}

// finishHooks records the hooks of a wave that have succeeded, then deletes
// those that ask for it: in this order, so that a crash in between repeats
// none.
func (e *Engine) finishHooks(ctx context.Context, c *component, tasks []*task, failure error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var remove []*task
	inv := c.getInventory()
	records := len(inv.Hooks)
	for _, t := range tasks {
		if !t.hook {
			continue
		}
		waits, failed := c.unhealthy(ctx, e.observer, []*task{t})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case waits == nil && failed == nil:
			inv.Hooks = withHook(inv.Hooks, hookRecord(t))
			if t.deletes(hookSucceeded) {
				remove = append(remove, t)
			}
		case failed != nil && failure != nil && t.deletes(hookFailed):
			remove = append(remove, t)
		}
	}
	if len(inv.Hooks) != records {
		if err := e.saveInventory(ctx, inv); err != nil {
			return err
		}
	}
	for _, t := range remove {
		m, err := e.lookup(ctx, t.object.GroupVersionKind())
		if err == nil {
			err = e.remove(ctx, m, t.resource, nil)
		}
		if err != nil {
			return objectError(t.resource, nil, err)
		}
	}
	return nil
}

// rendersNamespace reports whether the component brings a namespace itself.
func (c *component) rendersNamespace(name string) bool {
	return slices.ContainsFunc(c.tasks, func(t *task) bool {
		return t.resource.Group == "" && t.resource.Kind == "Namespace" && t.resource.Name == name
	})
}
