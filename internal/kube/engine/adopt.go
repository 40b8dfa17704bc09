package engine

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// findAdopters notes which components may adopt the objects of the manifests that
// come before Argo CD: they start a cluster, and do not take back what has come
// after them.
func (e *Engine) findAdopters() {
	for _, c := range e.components {
		if !c.model.PreArgo {
			continue
		}
		for _, t := range c.tasks {
			if t.hook {
				continue
			}
			for _, other := range e.tracked[t.resource] {
				if !other.model.PreArgo {
					t.adopters = append(t.adopters, other.name)
				}
			}
		}
	}
}

// adoptedIs reports whether a live object is that of an adopter by now.
func (t *task) adoptedIs(live *unstructured.Unstructured) bool {
	return live != nil && slices.Contains(t.adopters, live.GetAnnotations()[ComponentAnnotation])
}

// adopted is the live object of a task that is not applied any more; nil for one
// that is.
func (e *Engine) adopted(ctx context.Context, t *task, m mapping) (*unstructured.Unstructured, error) {
	if len(t.adopters) == 0 {
		return nil, nil
	}
	live, err := e.get(ctx, m, t.resource)
	if err != nil || !t.adoptedIs(live) {
		return nil, err
	}
	return live, nil
}
