package engine

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// ensureNamespace makes a namespace that is not there, or is about to be gone.
// It is not marked: it belongs to no component, and CreateNamespace never
// deletes one. The component, which may be nil, tells what it waits for.
func (e *Engine) ensureNamespace(ctx context.Context, c *component, name string) error {
	m, err := e.lookup(ctx, namespaceKind())
	if err != nil {
		return err
	}
	r := finding.Resource{Kind: "Namespace", Name: name}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	err = e.Try(ctx, func() error {
		_, err := e.resourceFor(m, "").Create(ctx, obj, metav1.CreateOptions{FieldManager: e.config.FieldManager})
		return err
	})
	if apierrors.IsAlreadyExists(err) && c != nil {
		live, err := e.get(ctx, m, r)
		if err != nil || live != nil && live.GetDeletionTimestamp() == nil {
			return err
		}
		if live != nil {
			if err := e.awaitGone(ctx, c, m, r, live.GetUID()); err != nil {
				return err
			}
		}
		return e.ensureNamespace(ctx, c, name)
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return objectError(r, nil, err)
}

// maxManager is the greatest length of the name of a field manager. Source:
// Kubernetes, FieldManagerMaxLength.
const maxManager = 128

// describeNamespace gives the namespace of a component the labels and annotations
// that its syncPolicy.managedNamespaceMetadata says, whoever made it. Each component
// owns its own by a field manager of its own, so that components that share a
// namespace do not take away each other's. Source: argo-cd, controller/sync_namespace.go,
// which applies them server-side.
func (e *Engine) describeNamespace(ctx context.Context, c *component) error {
	metadata := map[string]any{"name": c.model.Namespace}
	if len(c.model.NamespaceLabels) > 0 {
		metadata["labels"] = c.model.NamespaceLabels
	}
	if len(c.model.NamespaceAnnotations) > 0 {
		metadata["annotations"] = c.model.NamespaceAnnotations
	}
	if len(metadata) == 1 {
		return nil
	}
	m, err := e.lookup(ctx, namespaceKind())
	if err != nil {
		return err
	}
	manager := e.config.FieldManager + ":" + c.name
	manager = manager[:min(len(manager), maxManager)]
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}}
	_, err = e.Apply(ctx, e.resourceFor(m, ""), object, manager)
	return objectError(finding.Resource{Kind: "Namespace", Name: c.model.Namespace}, nil, err)
}
