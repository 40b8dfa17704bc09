package engine

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// observer watches every kind in use and keeps what it saw in memory. Kinds are
// added as they appear.
type observer struct {
	ctx    context.Context
	client dynamic.Interface
	clock  clock.Clock
	// changed is told about every object that was added, changed or deleted.
	changed func(*unstructured.Unstructured)
	// synced is told when everything of a kind that was there has been seen.
	synced func(schema.GroupKind)

	// sighted is when a watch came back that had been away.
	sighted atomic.Pointer[time.Time]

	mu      sync.RWMutex
	kinds   map[schema.GroupKind]*watchedKind
	running sync.WaitGroup
}

// Names of the indexes of a watched kind.
const (
	byOwner    = "owner"    // UID of an owner
	byInvolved = "involved" // UID of the object an Event is about
)

func newObserver(ctx context.Context, client dynamic.Interface, c clock.Clock, changed func(*unstructured.Unstructured), synced func(schema.GroupKind)) *observer {
	return &observer{ctx: ctx, client: client, clock: c, changed: changed, synced: synced, kinds: map[schema.GroupKind]*watchedKind{}}
}

// supportKinds are watched whatever the components consist of: they explain
// why something is not ready.
func supportKinds() []schema.GroupVersionKind {
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	core := schema.GroupVersion{Version: "v1"}
	return []schema.GroupVersionKind{
		core.WithKind("Pod"), core.WithKind("PersistentVolumeClaim"), core.WithKind("Event"),
		apps.WithKind("ReplicaSet"), apps.WithKind("StatefulSet"), apps.WithKind("Deployment"), apps.WithKind("DaemonSet"),
		{Group: "batch", Version: "v1", Kind: "Job"},
	}
}

// watch starts to watch a kind, once.
func (o *observer) watch(gvk schema.GroupVersionKind, m mapping) {
	if !m.watchable {
		return
	}
	gk := gvk.GroupKind()
	if o.kind(gk) != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.kinds[gk]; ok || o.ctx.Err() != nil {
		return
	}
	k := newWatchedKind(o, gk, m)
	o.kinds[gk] = k
	o.running.Go(func() { k.run(o.ctx, o.client, m.gvr) })
}

// wait returns when every watch that was started has seen what was there, or
// the patience is over: a kind whose conversion webhook is down must not hold
// up the others.
func (o *observer) wait(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o.mu.RLock()
	kinds := slices.Collect(maps.Values(o.kinds))
	o.mu.RUnlock()
	for _, k := range kinds {
		select {
		case <-k.synced:
		case <-ctx.Done():
			return
		}
	}
}

func (o *observer) kind(gk schema.GroupKind) *watchedKind {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.kinds[gk]
}

// expect makes sure that a change of an object, which the server has confirmed,
// is seen.
func (o *observer) expect(r finding.Resource, version uint64) {
	if k := o.kind(schema.GroupKind{Group: r.Group, Kind: r.Kind}); k != nil {
		k.expect(version)
	}
}

// lags reports whether a change that the server has confirmed is not seen yet.
func (o *observer) lags() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, k := range o.kinds {
		if k.lags() {
			return true
		}
	}
	return false
}

// blindAt is the last moment, in real time, at which a kind was not watched; zero for
// never.
func (o *observer) blindAt() time.Time {
	now := o.clock.Now()
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, k := range o.kinds {
		if k.blind(now) {
			return now
		}
	}
	if at := o.sighted.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// sight is what the observer knows of one object.
type sight struct {
	object *unstructured.Unstructured // nil when it is not there
	// watched is set when the kind is watched, synced when its first list was
	// seen as well; seen is the resource version up to which it was.
	watched, synced bool
	seen            uint64
}

// get looks an object up. The object is shared: it must not be changed.
func (o *observer) get(r finding.Resource) sight {
	k := o.kind(schema.GroupKind{Group: r.Group, Kind: r.Kind})
	if k == nil {
		return sight{}
	}
	key := r.Name
	if k.namespaced {
		key = r.Namespace + "/" + r.Name
	}
	// The version is read first: an object that arrives in between is newer.
	s := sight{watched: true, synced: k.hasSynced(), seen: k.seen.Load()}
	if item, ok, err := k.objects.GetByKey(key); err == nil && ok {
		s.object, _ = item.(*unstructured.Unstructured)
	}
	return s
}

// owned returns the objects of a kind that an object owns.
func (o *observer) owned(gk schema.GroupKind, owner *unstructured.Unstructured) []*unstructured.Unstructured {
	return o.indexed(gk, byOwner, string(owner.GetUID()))
}

// warnings returns the Warning events about an object.
func (o *observer) warnings(about *unstructured.Unstructured) []*unstructured.Unstructured {
	return o.indexed(schema.GroupKind{Kind: "Event"}, byInvolved, string(about.GetUID()))
}

func (o *observer) indexed(gk schema.GroupKind, index, value string) []*unstructured.Unstructured {
	k := o.kind(gk)
	if k == nil || value == "" {
		return nil
	}
	items, err := k.objects.ByIndex(index, value)
	if err != nil {
		return nil
	}
	out := make([]*unstructured.Unstructured, 0, len(items))
	for _, item := range items {
		if obj, ok := item.(*unstructured.Unstructured); ok {
			out = append(out, obj)
		}
	}
	return out
}

func ownerIndex(item any) ([]string, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	var uids []string
	for _, ref := range obj.GetOwnerReferences() {
		uids = append(uids, string(ref.UID))
	}
	return uids, nil
}

func involvedIndex(item any) ([]string, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok || obj.GetKind() != "Event" {
		return nil, nil
	}
	uid, _, _ := unstructured.NestedString(obj.Object, "involvedObject", "uid")
	if uid == "" {
		return nil, nil
	}
	return []string{uid}, nil
}

// slim drops what health never looks at, before an object is kept: managed
// fields, the content of Secrets and ConfigMaps (which must not be held in
// memory without need), the schemas of CRDs, the containers of pods.
func slim(item any) (any, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil
	}
	unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	switch obj.GetKind() {
	case "Secret", "ConfigMap":
		if obj.GetAPIVersion() == "v1" {
			for _, field := range []string{"data", "stringData", "binaryData"} {
				delete(obj.Object, field)
			}
		}
	case "CustomResourceDefinition":
		slimSchemas(obj)
	case "Pod":
		if spec, ok := obj.Object["spec"].(map[string]any); ok {
			obj.Object["spec"] = runtime.DeepCopyJSON(map[string]any{
				"restartPolicy": spec["restartPolicy"], "volumes": spec["volumes"], "nodeName": spec["nodeName"],
			})
		}
	}
	return obj, nil
}

func slimSchemas(obj *unstructured.Unstructured) {
	versions, _, err := unstructured.NestedFieldNoCopy(obj.Object, "spec", "versions")
	if err != nil {
		return
	}
	list, _ := versions.([]any)
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			delete(m, "schema")
		}
	}
}

// version reads a resource version as a number. Since Kubernetes 1.35 they are
// comparable by specification; before, they were so in fact.
func version(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
