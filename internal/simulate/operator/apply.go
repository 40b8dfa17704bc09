package operator

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// fieldManager applies what controllers make.
const fieldManager = "ladder-simulated-controller"

// clusterWide are the kinds of the API server itself, among those that rules
// may make, that have no namespace.
func clusterWide(kind string) bool {
	switch kind {
	case "Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "StorageClass", "PriorityClass", "IngressClass",
		"PersistentVolume", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService":
		return true
	}
	return false
}

func plural(kind string) string {
	gvr, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return gvr.Resource
}

// children makes the children and reports whether all are ready that the
// object waits for.
func (w *work) children(ctx context.Context) (ready bool, err error) {
	ready = true
	for i := range w.rule.ChildRules {
		c := &w.rule.ChildRules[i]
		objects, err := expand(ctx, c, w.scope)
		if err != nil {
			return false, fmt.Errorf("children[%d]: %w", i, err)
		}
		for _, u := range objects {
			ref, err := w.apply(ctx, u, !c.Unowned)
			if err != nil {
				return false, err
			}
			if c.NoWait {
				continue
			}
			object, err := w.find(ctx, ref.Kind, ref.Namespace, ref.Name)
			if err != nil {
				return false, err
			}
			// What was applied just now may not be in the caches yet. Whether a
			// Service has endpoints is its pods' matter.
			switch {
			case ref.Kind == world.Services || object == nil && !takesTime(u.GetKind()):
			case object == nil:
				ready = false
			default:
				ready = ready && w.engine.ready(ref.Kind, ref.Namespace, ref.Name, object)
			}
		}
	}
	return ready, nil
}

// expand evaluates the template of a child for every item.
func expand(ctx context.Context, c *rule.CompiledChild, scope rule.Scope) ([]*unstructured.Unstructured, error) {
	all, err := c.Objects.All(ctx, scope)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, made := range all {
		object, err := made.Map()
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{Object: object}
		if u.GetName() == "" || u.GetKind() == "" {
			return nil, fmt.Errorf("a child has no name or kind: %v", c.Object["kind"])
		}
		encodeStringData(u)
		out = append(out, u)
	}
	return out, nil
}

// encodeStringData turns the stringData of a Secret into data, which is what
// the API server keeps.
func encodeStringData(u *unstructured.Unstructured) {
	text, ok, _ := unstructured.NestedMap(u.Object, "stringData")
	if u.GetKind() != "Secret" || !ok {
		return
	}
	data, _, _ := unstructured.NestedMap(u.Object, "data")
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range text {
		data[k] = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(v)))
	}
	delete(u.Object, "stringData")
	u.Object["data"] = data
}

// apply applies a child when it is not what was applied last, or is gone.
func (w *work) apply(ctx context.Context, u *unstructured.Unstructured, owned bool) (world.Ref, error) {
	gvk := u.GroupVersionKind()
	resource, namespaced, err := w.engine.resource(gvk)
	if err != nil {
		return world.Ref{}, err
	}
	if namespaced && u.GetNamespace() == "" {
		u.SetNamespace(w.self.GetNamespace())
	}
	w.mark(u, owned)
	id := gvk.Kind
	if gvk.Group != "" {
		id = gvk.Group + "/" + gvk.Kind
	}
	ref := world.Ref{Kind: id, Namespace: u.GetNamespace(), Name: u.GetName()}
	w.refs = append(w.refs, ref)
	text, err := json.Marshal(u.Object)
	if err != nil {
		return ref, fmt.Errorf("write %s %s: %w", id, u.GetName(), err)
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	if w.memory.children[ref] == hash {
		existing, err := w.find(ctx, ref.Kind, ref.Namespace, ref.Name)
		if err != nil || existing != nil {
			return ref, err
		}
	}
	var client dynamic.ResourceInterface = w.engine.world.Dynamic.Resource(resource)
	if u.GetNamespace() != "" {
		client = w.engine.world.Dynamic.Resource(resource).Namespace(u.GetNamespace())
	}
	_, err = client.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsInvalid(err) && (gvk.Kind == "Pod" || gvk.Kind == "StatefulSet" || gvk.Kind == "Job") {
		// What cannot be changed in place is made anew, as controllers do.
		if err := client.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return ref, fmt.Errorf("replace %s %s/%s: %w", id, u.GetNamespace(), u.GetName(), err)
		}
		w.look(shortest)
		return ref, nil
	}
	if err != nil {
		return ref, fmt.Errorf("apply %s %s/%s: %w", id, u.GetNamespace(), u.GetName(), err)
	}
	w.memory.children[ref] = hash
	return ref, nil
}

// mark makes the child the object's own and gives it its component.
func (w *work) mark(u *unstructured.Unstructured, owned bool) {
	annotations := maps.Clone(u.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	if w.comp != "" {
		annotations[world.ComponentAnnotation] = w.comp
	}
	if r := w.self.GetAnnotations()[world.RevisionAnnotation]; r != "" {
		annotations[world.RevisionAnnotation] = r
	}
	if len(annotations) > 0 {
		u.SetAnnotations(annotations)
	}
	if ns := w.self.GetNamespace(); owned && (ns == "" || ns == u.GetNamespace()) {
		yes := true
		u.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: w.self.GetAPIVersion(), Kind: w.self.GetKind(), Name: w.self.GetName(), UID: w.self.GetUID(),
			Controller: &yes, BlockOwnerDeletion: &yes,
		}})
	}
}

// resource finds how a kind is addressed.
func (e *Engine) resource(gvk schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced bool, err error) {
	if k := e.kinds.get(gvk.Group + "/" + gvk.Kind); k != nil {
		gvr = k.gvr
		gvr.Version = gvk.Version
		return gvr, k.namespaced, nil
	}
	gvr, ok := coreKind(gvk.Group, gvk.Kind)
	if !ok {
		return gvr, false, fmt.Errorf("no matches for kind %q in version %q", gvk.Kind, gvk.GroupVersion())
	}
	gvr.Version = gvk.Version
	return gvr, !clusterWide(gvk.Kind), nil
}
