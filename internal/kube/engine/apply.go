package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The marks on every applied object.
const (
	ComponentAnnotation = "ladder.rollout-ladder.dev/component"
	RevisionAnnotation  = "ladder.rollout-ladder.dev/revision"
	// runAnnotation, on hooks, tells a hook of this run from an older one.
	runAnnotation = "ladder.rollout-ladder.dev/run"
)

// prepare makes the object that is sent: in its namespace, marked, without the
// fields that only the server writes.
func (e *Engine) prepare(component string, t *task, namespaced bool) *unstructured.Unstructured {
	obj := t.object.DeepCopy()
	obj.SetName(t.resource.Name)
	obj.SetGenerateName("")
	obj.SetNamespace("")
	if namespaced {
		obj.SetNamespace(t.resource.Namespace)
	}
	e.mark(component, t, obj)
	delete(obj.Object, "status")
	for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	EncodeSecret(obj)
	dropAggregated(obj)
	return obj
}

// dropAggregated leaves the rules of an aggregated ClusterRole to the control
// plane, which fills them in: to send others takes rights away until it has looked
// again. Source: Kubernetes, "Using RBAC Authorization", Aggregated ClusterRoles.
func dropAggregated(obj *unstructured.Unstructured) {
	if obj.GetKind() == "ClusterRole" && strings.HasPrefix(obj.GetAPIVersion(), "rbac.authorization.k8s.io/") && obj.Object["aggregationRule"] != nil {
		delete(obj.Object, "rules")
	}
}

// mark says on an object what it belongs to.
func (e *Engine) mark(component string, t *task, obj *unstructured.Unstructured) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ComponentAnnotation] = component
	annotations[RevisionAnnotation] = e.config.Revision
	if t.hook {
		annotations[runAnnotation] = e.config.Run
	}
	obj.SetAnnotations(annotations)
}

// desired is the object that is sent for a task: as it is prepared, but for the
// fields that are ignored and that a live object has.
func (e *Engine) desired(ctx context.Context, c *component, t *task, m mapping) (*unstructured.Unstructured, error) {
	obj := e.prepare(c.name, t, m.namespaced)
	if t.hook {
		return obj, nil
	}
	rules, err := c.ignore.about(ctx, obj)
	if err != nil || len(rules) == 0 {
		return obj, err
	}
	live, err := e.get(ctx, m, t.resource)
	if err != nil || live == nil {
		return obj, err
	}
	if obj, err = respecting(ctx, rules, obj, live); err != nil {
		return nil, err
	}
	e.mark(c.name, t, obj)
	return obj, nil
}

// EncodeSecret moves stringData to data, as the API server does: a field
// manager that owns stringData can never remove a key. What is no text is left
// where it is, for the API server to refuse.
func EncodeSecret(obj *unstructured.Unstructured) {
	if obj.GetKind() != "Secret" || obj.GetAPIVersion() != "v1" {
		return
	}
	plain, ok := obj.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, ok := obj.Object["data"].(map[string]any)
	if !ok && obj.Object["data"] != nil {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	for key, v := range plain {
		if s, ok := v.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
			delete(plain, key)
		}
	}
	if len(plain) == 0 {
		delete(obj.Object, "stringData")
	}
	if len(data) > 0 {
		obj.Object["data"] = data
	}
}

// apply sends one object and returns what the server made of it. Errors are
// those of the server.
func (e *Engine) apply(ctx context.Context, c *component, t *task, obj *unstructured.Unstructured, m mapping) (*unstructured.Unstructured, error) {
	var out *unstructured.Unstructured
	if err := e.clearWay(ctx, c, t, m); err != nil {
		return nil, err
	}
	err := e.Try(ctx, func() (err error) {
		if t.options.replace {
			out, err = e.replace(ctx, t, obj, m)
		} else {
			out, err = e.patch(ctx, t, obj, m, false)
		}
		return err
	})
	if err != nil && t.options.force && apierrors.IsInvalid(err) {
		// Force=true: an object that cannot be changed is made anew.
		if err = e.removeTold(ctx, c, m, t.resource, nil); err == nil {
			err = e.Try(ctx, func() (err error) {
				out, err = e.patch(ctx, t, obj, m, false)
				return err
			})
		}
	}
	if apierrors.IsNotFound(err) && !missingNamespace(err) {
		// The kind is gone since it was looked up.
		e.mapper.forget(t.object.GroupVersionKind())
		err = &unservedError{t.object.GroupVersionKind()}
	}
	return out, err
}

// clearWay deletes what Replace=true with Force=true makes anew, which is kubectl
// replace --force: never Namespaces and CRDs, and not what this rollout has made
// already. Source: gitops-engine, pkg/sync, applyObject.
func (e *Engine) clearWay(ctx context.Context, c *component, t *task, m mapping) error {
	if !t.options.replace || !t.options.force || t.resource.Kind == "Namespace" || t.resource.Kind == "CustomResourceDefinition" {
		return nil
	}
	live, err := e.get(ctx, m, t.resource)
	if err != nil || live == nil {
		return err
	}
	marks := live.GetAnnotations()
	if marks[ComponentAnnotation] == c.name && marks[RevisionAnnotation] == e.config.Revision {
		return nil
	}
	uid := live.GetUID()
	return e.removeTold(ctx, c, m, t.resource, &uid)
}

func missingNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// patch applies server-side, taking over fields from other managers.
func (e *Engine) patch(ctx context.Context, t *task, obj *unstructured.Unstructured, m mapping, dryRun bool) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	force := true
	options := metav1.PatchOptions{FieldManager: e.config.FieldManager, Force: &force, FieldValidation: validation(t)}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return e.resourceFor(m, obj.GetNamespace()).Patch(ctx, obj.GetName(), types.ApplyPatchType, body, options)
}

// replace is Replace=true: the object is put as it is rendered. Namespaces and
// CRDs as well: a put keeps what is in them.
func (e *Engine) replace(ctx context.Context, t *task, obj *unstructured.Unstructured, m mapping) (*unstructured.Unstructured, error) {
	client := e.resourceFor(m, obj.GetNamespace())
	live, err := client.Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return client.Create(ctx, obj, metav1.CreateOptions{FieldManager: e.config.FieldManager, FieldValidation: validation(t)})
	}
	if err != nil {
		return nil, err
	}
	put := obj.DeepCopy()
	put.SetResourceVersion(live.GetResourceVersion())
	return client.Update(ctx, put, metav1.UpdateOptions{FieldManager: e.config.FieldManager, FieldValidation: validation(t)})
}

func validation(t *task) string {
	if t.options.noValidate {
		return metav1.FieldValidationIgnore
	}
	return metav1.FieldValidationStrict
}

// get reads a live object; nil when it is not there.
func (e *Engine) get(ctx context.Context, m mapping, r finding.Resource) (*unstructured.Unstructured, error) {
	live, err := e.Get(ctx, e.resourceFor(m, r.Namespace), r.Name)
	return live, objectError(r, nil, err)
}

// remove deletes an object and returns when it is gone. With a UID only that
// very object is deleted.
func (e *Engine) remove(ctx context.Context, m mapping, r finding.Resource, uid *types.UID) error {
	return objectError(r, nil, e.Delete(ctx, e.resourceFor(m, r.Namespace), r.Name, uid, nil))
}

// removeTold is remove for a component whose sync waits for it.
func (e *Engine) removeTold(ctx context.Context, c *component, m mapping, r finding.Resource, uid *types.UID) error {
	e.tell(c, r, "waits until "+r.Human()+" is deleted")
	defer e.tell(c, finding.Resource{}, "")
	return e.remove(ctx, m, r, uid)
}

// dryRunVerdict says whether the error of a dry run means that the sync must
// not begin: only what is wrong with the object itself counts. A missing
// namespace, a webhook or a quota may be different when its wave comes.
func dryRunVerdict(err error) bool {
	if err == nil {
		return false
	}
	message := err.Error()
	if strings.Contains(message, "webhook") || strings.Contains(message, "dry run") || strings.Contains(message, "dryRun") {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
