package engine

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// applyLasting applies an object so that it lasts. What is being deleted takes
// changes and is gone a moment later, so its end is waited for; a namespace that
// is being deleted takes no new objects until it is made anew. The timeout of
// the component ends the wait.
func (e *Engine) applyLasting(ctx context.Context, c *component, t *task, m mapping) (*unstructured.Unstructured, error) {
	for {
		obj, err := e.desired(ctx, c, t, m)
		if err != nil {
			return nil, objectError(t.resource, t.object.Unstructured, err)
		}
		live, err := e.apply(ctx, c, t, obj, m)
		switch {
		case err == nil && live.GetDeletionTimestamp() == nil:
			return live, nil
		case err == nil:
			err = e.awaitGone(ctx, c, m, t.resource, live.GetUID())
		case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			err = e.renewNamespace(ctx, c, obj.GetNamespace())
		}
		if err != nil {
			return nil, objectError(t.resource, t.object.Unstructured, err)
		}
	}
}

// renewNamespace waits for the end of a namespace that is being deleted, and
// makes it again where that is the component's business. Where it is not, the
// next request says that the namespace does not exist.
func (e *Engine) renewNamespace(ctx context.Context, c *component, name string) error {
	m, err := e.lookup(ctx, namespaceKind())
	if err != nil {
		return err
	}
	r := finding.Resource{Kind: "Namespace", Name: name}
	live, err := e.get(ctx, m, r)
	if err != nil {
		return err
	}
	if live != nil && live.GetDeletionTimestamp() != nil {
		if err := e.awaitGone(ctx, c, m, r, live.GetUID()); err != nil {
			return err
		}
	}
	if c.options.createNamespace && name == c.model.Namespace {
		return e.ensureNamespace(ctx, c, name)
	}
	return nil
}

func namespaceKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
}

// awaitGone waits until an object that is being deleted is gone; Watch tells
// meanwhile what holds it up.
func (e *Engine) awaitGone(ctx context.Context, c *component, m mapping, r finding.Resource, uid types.UID) error {
	defer e.tell(c, finding.Resource{}, "")
	return objectError(r, nil, e.Client.awaitGone(ctx, e.resourceFor(m, r.Namespace), r.Name, &uid, func(live *unstructured.Unstructured) {
		e.tell(c, r, r.Human()+" is being deleted"+heldBy(live))
	}))
}

// tell has Watch report what the sync of a component waits for; an empty
// message ends it.
func (e *Engine) tell(c *component, r finding.Resource, message string) {
	if c.setHold(hold{r, shorten(message)}) {
		e.touch(c)
	}
}

// heldBy says what holds up the deletion of an object, ready to follow "is being
// deleted". Source: Kubernetes, "Finalizers"; k8s.io/api/core/v1,
// NamespaceConditionType.
func heldBy(obj *unstructured.Unstructured) string {
	var reasons, finalizers []string
	if obj.GetKind() == "Namespace" {
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, item := range conditions {
			condition, ok := item.(map[string]any)
			message, _, _ := unstructured.NestedString(condition, "message")
			if ok && condition["status"] == "True" && message != "" {
				reasons = append(reasons, message)
			}
		}
	}
	for _, f := range obj.GetFinalizers() {
		if f == metav1.FinalizerDeleteDependents {
			f = "the deletion of what it owns"
		}
		finalizers = append(finalizers, f)
	}
	if len(finalizers) > 0 {
		reasons = append(reasons, "waits for "+strings.Join(finalizers, ", "))
	}
	if len(reasons) == 0 {
		return ""
	}
	return ": " + strings.Join(reasons, "; ")
}
