package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/executor"
)

// prune deletes what the component had and does not render any more, in
// reverse order, and returns what it had to leave. Nothing is deleted where a
// deletion would take objects of other components along.
func (e *Engine) prune(ctx context.Context, c *component, old, now []inventoryItem) (left []inventoryItem, err error) {
	var found []doomed
	var kept []inventoryItem
	for _, item := range stale(old, now) {
		d, err := e.doom(ctx, c.name, item)
		switch {
		case err != nil:
			return nil, err
		case d.live == nil: // it is gone, or another component's by now
		case c.options.with(d.live.GetAnnotations()[optionsAnnotation]).noPrune || e.renderedElsewhere(c, item):
			kept = append(kept, item)
		default:
			found = append(found, d)
		}
	}
	// What the component still has in a Namespace or of a CRD keeps that as well.
	found, kept = keepHolders(found, slices.Concat(now, kept))
	if err := e.refusePruning(ctx, c.name, found); err != nil {
		return nil, err
	}
	for _, d := range found {
		uid := d.live.GetUID()
		if err := e.removeTold(ctx, c, d.mapping, d.item.resource(), &uid); err != nil {
			return nil, err
		}
	}
	return kept[len(now):], nil
}

// renderedElsewhere reports whether another component of the rollout renders
// the object, and will take it over when it is its turn.
func (e *Engine) renderedElsewhere(c *component, item inventoryItem) bool {
	for _, other := range e.components {
		if other != c && slices.ContainsFunc(other.tasks, func(t *task) bool { return !t.hook && t.resource == item.resource() }) {
			return true
		}
	}
	return false
}

// refusePruning returns an error where pruning a Namespace or CRD would delete
// objects of other components, or what the engine itself needs.
func (e *Engine) refusePruning(ctx context.Context, name string, found []doomed) error {
	for _, d := range found {
		if d.item.Group == "" && d.item.Kind == "Namespace" && d.item.Name == inventoryNamespace {
			return &executor.ObjectError{Object: d.item.resource(), Final: true, Message: "is not pruned: it holds the inventories of all components"}
		}
		stay, leave, err := e.dependOn(ctx, name, d)
		if err != nil {
			return err
		}
		if others := slices.Concat(stay, leave); len(others) > 0 {
			return &executor.ObjectError{Object: d.item.resource(), Final: true, Message: shorten(fmt.Sprintf(
				"%s %s is not pruned, and nothing else of component %s: it %s of other components: %s; render it until those objects are gone, or annotate it with argocd.argoproj.io/sync-options: Prune=false",
				d.item.Kind, d.item.Name, name, d.verb(), strings.Join(others, ", ")))}
		}
	}
	return nil
}
