package operator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-ladder/ladder/internal/plane/quiet"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// kind is a served custom resource.
type kind struct {
	id         string // group/Kind
	gvr        schema.GroupVersionResource
	version    string
	namespaced bool
	hasStatus  bool
	// definedBy is the group/Kind of the object that owns the definition.
	definedBy string

	informer cache.SharedIndexInformer // nil for a kind nobody follows
	stop     context.CancelFunc
}

// kinds are the served custom resources by group/Kind.
type kinds struct {
	mu  sync.RWMutex
	all map[string]*kind
}

func (k *kinds) get(id string) *kind {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.all[id]
}

func (k *kinds) ids() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Sorted(maps.Keys(k.all))
}

// object looks an object up in the caches.
func (k *kinds) object(id, namespace, name string) *unstructured.Unstructured {
	found := k.get(id)
	if found == nil || found.informer == nil {
		return nil
	}
	key := name
	if found.namespaced {
		key = namespace + "/" + name
	}
	obj, ok, err := found.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil
	}
	u, _ := obj.(*unstructured.Unstructured)
	return u
}

// list returns the objects of a kind in a namespace, all for the empty one,
// sorted.
func (k *kinds) list(id, namespace string) []*unstructured.Unstructured {
	found := k.get(id)
	if found == nil || found.informer == nil {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, obj := range found.informer.GetStore().List() {
		if u, ok := obj.(*unstructured.Unstructured); ok && (namespace == "" || u.GetNamespace() == namespace) {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// newKind reads a definition; nil while it is not served.
func newKind(crd *apiextensionsv1.CustomResourceDefinition) *kind {
	if !established(crd) {
		return nil
	}
	k := &kind{
		id:         crd.Spec.Group + "/" + crd.Spec.Names.Kind,
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
	}
	for _, v := range crd.Spec.Versions {
		if v.Served && (k.version == "" || v.Storage) {
			k.version = v.Name
			k.hasStatus = v.Subresources != nil && v.Subresources.Status != nil
		}
	}
	if k.version == "" {
		return nil
	}
	k.gvr = schema.GroupVersionResource{Group: crd.Spec.Group, Version: k.version, Resource: crd.Spec.Names.Plural}
	if owner := metav1.GetControllerOf(crd); owner != nil {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil {
			k.definedBy = gv.Group + "/" + owner.Kind
		}
	}
	return k
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.DeletionTimestamp == nil && slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// same reports whether a followed kind need not be followed anew.
func (k *kind) same(o *kind) bool {
	return k.gvr == o.gvr && k.namespaced == o.namespaced && k.hasStatus == o.hasStatus && k.definedBy == o.definedBy
}

// definition follows or leaves the kind of a definition.
func (e *Engine) definition(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	id := crd.Spec.Group + "/" + crd.Spec.Names.Kind
	e.wake(world.Definitions, "", crd.Name)
	next := newKind(crd)
	if deleted {
		next = nil
	}
	e.kinds.mu.Lock()
	old := e.kinds.all[id]
	switch {
	case next == nil && old == nil, next != nil && old != nil && old.same(next):
		e.kinds.mu.Unlock()
		return
	case next == nil:
		delete(e.kinds.all, id)
	default:
		e.kinds.all[id] = next
	}
	if next != nil && e.ruled(next) {
		e.follow(next)
	}
	e.kinds.mu.Unlock()
	if old != nil && old.stop != nil {
		old.stop()
	}
	e.loop.Add(e.waiting.OnKind(id)...)
}

// followed returns a served custom kind with a cache of its objects; nil when
// none is served. What no rule is for is followed from the first look at it on:
// reading it again and again took 142 of the 4,200 requests of a rehearsal of
// examples/ameide.
func (e *Engine) followed(id string) *kind {
	if k := e.kinds.get(id); k == nil || k.informer != nil {
		return k
	}
	e.kinds.mu.Lock()
	defer e.kinds.mu.Unlock()
	return e.followLocked(id)
}

// followLocked follows a kind of e.kinds that is not followed yet. Others read
// the old one without the lock, so that it is replaced.
func (e *Engine) followLocked(id string) *kind {
	k := e.kinds.all[id]
	if k == nil || k.informer != nil {
		return k
	}
	followed := *k
	e.follow(&followed)
	e.kinds.all[id] = &followed
	return &followed
}

// follow keeps a cache of the kind's objects and queues those that change.
func (e *Engine) follow(k *kind) {
	var ctx context.Context
	ctx, k.stop = context.WithCancel(e.ctx)
	factory := dynamicinformer.NewFilteredDynamicInformer(e.world.Dynamic, k.gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	k.informer = factory.Informer()
	_ = k.informer.SetTransform(func(obj any) (any, error) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return obj, nil
	})
	changed := func(obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		if u, ok := obj.(*unstructured.Unstructured); ok {
			e.loop.Add(key(k.id, u.GetNamespace(), u.GetName()))
			e.wake(k.id, u.GetNamespace(), u.GetName())
		}
	}
	_, _ = k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
	})
	go fill(ctx, k.informer, quiet.Begin(), func(ctx context.Context) error {
		_, err := e.world.Dynamic.Resource(k.gvr).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

const (
	// serving is the time between two questions whether a kind is served. After unserved,
	// in real time, a kind that is not served holds nothing up: its conversion webhook may
	// be down for ever.
	serving  = 20 * time.Millisecond
	unserved = 5 * time.Second
)

// fill fills a cache as soon as its kind is served, which is some moments after its
// definition is established: an informer that is refused asks again after a second, and
// until then no time must be skipped.
func fill(ctx context.Context, informer cache.SharedIndexInformer, finished func(), list func(context.Context) error) {
	defer finished()
	soon, cancel := context.WithTimeout(ctx, unserved)
	defer cancel()
	for list(soon) != nil && soon.Err() == nil {
		select {
		case <-soon.Done():
		case <-time.After(serving):
		}
	}
	go informer.RunWithContext(ctx)
	select {
	case <-informer.HasSyncedChecker().Done():
	case <-soon.Done():
	}
}

func key(id, namespace, name string) string { return id + "|" + namespace + "|" + name }

func splitKey(key string) (id, namespace, name string) {
	parts := strings.SplitN(key, "|", 3)
	if len(parts) != 3 {
		return "", "", ""
	}
	return parts[0], parts[1], parts[2]
}
