package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-ladder/ladder/internal/simulate/kubelet"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// errLagging means that a cache is not filled yet: nothing is known of the
// objects of its kind.
var errLagging = errors.New("a kind that it requires cannot be listed yet")

// requirements looks for everything the controller requires. It returns the
// first requirement that is not met, which templates see as missing.
func (w *work) requirements(ctx context.Context) (*rule.CompiledRequirement, error) {
	refs := map[string]any{}
	w.scope["refs"] = refs
	var unmet *rule.CompiledRequirement
	for i := range w.rule.Requirements {
		r := &w.rule.Requirements[i]
		found, err := w.requirement(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("requires[%d]: %w", i, err)
		}
		if r.Name != "" {
			refs[r.Name] = found
		}
		for _, f := range found {
			f := f.(map[string]any)
			if unmet == nil && !r.Soft && f["ready"] != true {
				unmet = r
				w.scope["missing"] = f
			}
		}
	}
	return unmet, nil
}

// requirement looks for the objects of one requirement.
func (w *work) requirement(ctx context.Context, r *rule.CompiledRequirement) ([]any, error) {
	all, err := r.Looked.All(ctx, w.scope)
	if err != nil {
		return nil, err
	}
	defer delete(w.scope, "item")
	found := []any{}
	for _, made := range all {
		w.scope["item"] = made.Item
		list, err := w.lookUp(ctx, r, made)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			f["item"] = made.Item
			found = append(found, f)
		}
	}
	return found, nil
}

// lookUp looks for the object of one item, or for all that are selected.
func (w *work) lookUp(ctx context.Context, r *rule.CompiledRequirement, made rule.Made) ([]map[string]any, error) {
	looked, err := made.Map()
	if err != nil {
		return nil, err
	}
	kind, err := rule.Text(looked["kind"])
	if err != nil {
		return nil, err
	}
	ns := w.self.GetNamespace()
	if r.Namespace != nil {
		if ns, err = rule.Text(looked["namespace"]); err != nil {
			return nil, err
		}
	}
	if r.Select != nil {
		return w.selectAll(ctx, r, kind, ns, looked["select"])
	}
	name, err := rule.Text(looked["object"])
	if err != nil {
		return nil, err
	}
	w.waitFor(kind, ns, name)
	object, err := w.find(ctx, kind, ns, name)
	if err != nil {
		return nil, err
	}
	f, err := w.seen(ctx, r, kind, ns, name, object)
	return []map[string]any{f}, err
}

// waitFor has the object looked at again when the other one changes, any of its
// kind and namespace if it has no name.
func (w *work) waitFor(kind, ns, name string) {
	if _, clusterWide := w.engine.world.Finder(kind); clusterWide {
		ns = ""
	} else if k := w.engine.kinds.get(kind); k != nil && !k.namespaced {
		ns = ""
	}
	r := world.Ref{Kind: kind, Namespace: ns, Name: name}
	w.refs = append(w.refs, r)
	w.engine.waiting.Add(w.key, r)
}

// selectAll finds the custom resources of a namespace by labels.
func (w *work) selectAll(ctx context.Context, r *rule.CompiledRequirement, kind, ns string, labels any) ([]map[string]any, error) {
	wanted, err := rule.Map(labels)
	if err != nil {
		return nil, err
	}
	w.waitFor(kind, ns, "")
	if k := w.engine.followed(kind); k != nil && !k.informer.HasSynced() {
		return nil, errLagging
	}
	var found []map[string]any
	for _, u := range w.engine.kinds.list(kind, ns) {
		labels := u.GetLabels()
		match := true
		for k, v := range wanted {
			match = match && labels[k] == fmt.Sprint(v)
		}
		if !match {
			continue
		}
		f, err := w.seen(ctx, r, kind, u.GetNamespace(), u.GetName(), u.Object)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	if len(found) == 0 {
		f, err := w.seen(ctx, r, kind, ns, "", nil)
		return []map[string]any{f}, err
	}
	return found, nil
}

// seen is an object as templates see it.
func (w *work) seen(ctx context.Context, r *rule.CompiledRequirement, kind, ns, name string, object map[string]any) (map[string]any, error) {
	f := map[string]any{"kind": kind[strings.LastIndex(kind, "/")+1:], "namespace": ns, "name": name, "found": false, "ready": false, "object": nil, "key": ""}
	if object == nil {
		return f, nil
	}
	f["found"], f["object"] = true, object
	ready, err := w.isReady(ctx, r, f, kind, ns, name, object)
	f["ready"] = ready
	return f, err
}

func (w *work) isReady(ctx context.Context, r *rule.CompiledRequirement, f map[string]any, kind, ns, name string, object map[string]any) (bool, error) {
	if r.KeysExpr != nil {
		keys, err := r.KeysExpr.All(ctx, w.scope)
		if err != nil {
			return false, err
		}
		for _, key := range keys {
			if !holds(object, fmt.Sprint(key.Item)) {
				f["key"] = key.Item
				return false, nil
			}
		}
	}
	ready := r.Exists || w.engine.ready(kind, ns, name, object)
	if r.ReadyExpr == nil {
		return ready, nil
	}
	w.scope["object"], w.scope["ready"] = object, ready
	defer func() { delete(w.scope, "object"); delete(w.scope, "ready") }()
	return r.ReadyExpr.Holds(ctx, w.scope)
}

func holds(object map[string]any, key string) bool {
	data, _ := object["data"].(map[string]any)
	if _, ok := data[key]; ok {
		return true
	}
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	return annotations[kubelet.OpenAnnotation] == "true"
}

// find returns an object as templates see it, nil for none.
func (w *work) find(ctx context.Context, kind, ns, name string) (map[string]any, error) {
	e := w.engine
	if cached, clusterWide := e.world.Finder(kind); cached != nil {
		if clusterWide {
			ns = ""
		}
		o := cached.Object(ns, name)
		if o == nil {
			return nil, nil
		}
		m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return nil, fmt.Errorf("read %s %s/%s: %w", kind, ns, name, err)
		}
		return m, nil
	}
	if k := e.followed(kind); k != nil {
		if !k.informer.HasSynced() {
			return nil, errLagging
		}
		if u := e.kinds.object(kind, ns, name); u != nil {
			return u.Object, nil
		}
		return nil, nil
	}
	group, short, _ := strings.Cut(kind, "/")
	if short == "" {
		group, short = "", kind
	}
	gvr, ok := coreKind(group, short)
	if !ok {
		return nil, nil // not served yet; definition wakes those that wait for it
	}
	w.look(w.engine.world.Clock.AtLeast(lookAgain, shortest))
	resource := e.world.Dynamic.Resource(gvr)
	get := resource.Get
	if ns != "" {
		get = resource.Namespace(ns).Get
	}
	u, err := get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", kind, ns, name, err)
	}
	return u.Object, nil
}

// ready says whether an object is ready, as its kind understands it.
func (e *Engine) ready(kind, ns, name string, object map[string]any) bool {
	w := e.world
	switch kind {
	case world.Services:
		s := w.Services.Get(ns, name)
		return s != nil && (s.Spec.Type == corev1.ServiceTypeExternalName || w.ReadyEndpoints(ns, name) > 0)
	case world.Claims:
		c := w.Claims.Get(ns, name)
		return c != nil && (c.Status.Phase == corev1.ClaimBound || waitsForConsumer(w, c))
	case world.Pods:
		p := w.Pods.Get(ns, name)
		return p != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	case world.Deployments:
		d := w.Deployments.Get(ns, name)
		return d != nil && d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas >= wanted(d.Spec.Replicas)
	case world.StatefulSets:
		s := w.StatefulSets.Get(ns, name)
		return s != nil && s.Status.ObservedGeneration >= s.Generation && s.Status.ReadyReplicas >= wanted(s.Spec.Replicas)
	case world.DaemonSets:
		d := w.DaemonSets.Get(ns, name)
		return d != nil && d.Status.ObservedGeneration >= d.Generation && d.Status.NumberReady >= d.Status.DesiredNumberScheduled
	case world.Jobs:
		j := w.Jobs.Get(ns, name)
		return j != nil && j.Status.Succeeded > 0
	}
	if k := e.kinds.get(kind); k != nil {
		status := rule.Condition(object, "Ready")
		return status == "" || status == "True"
	}
	return true
}

func waitsForConsumer(w *world.World, c *corev1.PersistentVolumeClaim) bool {
	if c.Spec.StorageClassName == nil {
		return false
	}
	class := w.Classes.Get("", *c.Spec.StorageClassName)
	return class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == "WaitForFirstConsumer"
}

func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}
