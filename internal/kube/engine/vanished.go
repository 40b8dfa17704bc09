package engine

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Vanished lists the components of this scope that earlier rollouts applied and
// that are not among those of the engine, in the order in which they were
// applied. Timeouts and retries are left to the caller.
func (e *Engine) Vanished(ctx context.Context) ([]rollout.RemovalSpec, error) {
	if err := e.loadInventories(ctx); err != nil {
		return nil, err
	}
	all := e.inventories()
	owners, err := e.holders(ctx, all)
	if err != nil {
		return nil, err
	}
	var applied []rollout.Applied
	vanished := map[string]bool{}
	for _, inv := range all {
		stays := e.components[inv.Component] != nil
		if inv.Scope != e.config.Scope || inv.Sequence == 0 {
			continue // another platform's, or never applied
		}
		vanished[inv.Component] = !stays
		var within []string
		for _, item := range slices.Concat(inv.Objects, inv.HookObjects) {
			for _, key := range holdersOf(item) {
				if owner := owners[key]; owner != "" && owner != inv.Component && !slices.Contains(within, owner) {
					within = append(within, owner)
				}
			}
		}
		applied = append(applied, rollout.Applied{Component: inv.Component, Sequence: inv.Sequence, Requires: inv.Requires, Within: within})
	}
	return rollout.Removals(applied, func(name string) bool { return !vanished[name] }), nil
}

// holdersOf are the namespace and the kind of an object.
func holdersOf(item inventoryItem) []holder {
	out := []holder{{kind: item.gvk().GroupKind()}}
	if item.Namespace != "" {
		out = append(out, holder{namespace: item.Namespace})
	}
	return out
}

// holder is a namespace or a kind that other objects need.
type holder struct {
	namespace string
	kind      schema.GroupKind
}

// holders finds the components that are not part of the rollout and own a
// Namespace or CRD.
func (e *Engine) holders(ctx context.Context, all []inventory) (map[holder]string, error) {
	owners := map[holder]string{}
	for _, inv := range all {
		if e.components[inv.Component] != nil {
			continue
		}
		for _, item := range inv.Objects {
			switch item.gvk().GroupKind() {
			case schema.GroupKind{Kind: "Namespace"}:
				owners[holder{namespace: item.Name}] = inv.Component
			case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
				crd, err := e.liveCRD(ctx, item)
				if err != nil {
					return nil, err
				}
				if gk, ok := crdKind(crd); ok {
					owners[holder{kind: gk}] = inv.Component
				}
			}
		}
	}
	return owners, nil
}

// liveCRD reads a CRD; one that is gone is empty.
func (e *Engine) liveCRD(ctx context.Context, item inventoryItem) (*unstructured.Unstructured, error) {
	m, err := e.lookup(ctx, item.gvk())
	if err != nil {
		return nil, fmt.Errorf("look for what vanished: %w", err)
	}
	live, err := e.get(ctx, m, item.resource())
	if err != nil {
		return nil, fmt.Errorf("look for what vanished: %w", err)
	}
	if live == nil {
		live = &unstructured.Unstructured{Object: map[string]any{}}
	}
	return live, nil
}
