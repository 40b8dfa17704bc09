package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/rollout-ladder/ladder/internal/kube/informer"
)

// watchBackoff is how soon a watch that failed is tried again. Informers wait
// for up to a minute, which is as long as a component may take to become
// Healthy: an API server that comes back must be seen at once.
func watchBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Cap: 5 * time.Second, Steps: 10, Jitter: 0.5}
}

// watchedKind keeps the objects of one kind as its watch shows them. It is the
// store that the watch fills, so what it has seen is in it.
type watchedKind struct {
	observer   *observer
	kind       schema.GroupKind
	namespaced bool
	objects    cache.Indexer
	// seen is the resource version up to which everything is in objects.
	seen atomic.Uint64
	// down is since when no watch is open, zero while one is.
	down atomic.Pointer[time.Time]
	// synced is closed when everything that was there has been seen.
	synced     chan struct{}
	syncedOnce sync.Once

	mu sync.Mutex
	// renew ends the watch, and a new one begins.
	renew context.CancelFunc
	// wanted is the newest resource version that is known to exist; checking is
	// set while somebody waits for it to be seen.
	wanted   uint64
	checking bool
}

// invisible is how long a change that was made may stay unseen until its watch is
// taken for dead: a proxy may keep one open that nothing comes through any more.
const invisible = 10 * time.Second

// gap is how long the change from one watch to the next may take.
const gap = time.Second

var (
	_ cache.TransformingStore      = (*watchedKind)(nil)
	_ cache.ReflectorBookmarkStore = (*watchedKind)(nil)
)

func newWatchedKind(o *observer, gk schema.GroupKind, m mapping) *watchedKind {
	k := &watchedKind{
		observer: o, kind: gk, namespaced: m.namespaced, synced: make(chan struct{}),
		objects: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byOwner: ownerIndex, byInvolved: involvedIndex}),
	}
	k.open(false)
	return k
}

// open notes that a watch has begun or ended.
func (k *watchedKind) open(begun bool) {
	now := k.observer.clock.Now()
	if !begun {
		k.down.Store(&now)
		return
	}
	if since := k.down.Swap(nil); since != nil && now.Sub(*since) > gap {
		k.observer.sighted.Store(&now)
	}
}

// blind reports whether no watch was open for longer than one takes to follow another.
func (k *watchedKind) blind(now time.Time) bool {
	since := k.down.Load()
	return since != nil && now.Sub(*since) > gap
}

// run watches until ctx ends.
func (k *watchedKind) run(ctx context.Context, client dynamic.Interface, gvr schema.GroupVersionResource) {
	for ctx.Err() == nil {
		one, end := context.WithCancel(ctx)
		k.mu.Lock()
		k.renew = end
		k.mu.Unlock()
		k.watch(one, client, gvr)
		end()
	}
}

// watch lists and watches until ctx ends; a watch that ends before is made again.
func (k *watchedKind) watch(ctx context.Context, client dynamic.Interface, gvr schema.GroupVersionResource) {
	source := informer.Source{Client: client, Resource: client.Resource(gvr), Clock: k.observer.clock, Open: k.open}
	if k.kind.Group == "" && k.kind.Kind == "Event" {
		source.Select = func(options *metav1.ListOptions) { options.FieldSelector = "type=Warning" }
	}
	// That a watch ends is nobody's news.
	var quiet klog.Logger
	cache.NewReflectorWithOptions(source.ListerWatcher(), &unstructured.Unstructured{}, k,
		cache.ReflectorOptions{Name: "ladder", TypeDescription: gvr.String(), Backoff: watchBackoff(), Logger: &quiet}).
		RunWithContext(klog.NewContext(ctx, quiet))
}

// expect makes sure that a change is seen, by a new watch if need be.
func (k *watchedKind) expect(v uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = max(k.wanted, v)
	if k.checking || k.seen.Load() >= k.wanted || k.observer.ctx.Err() != nil {
		return
	}
	k.checking = true
	k.observer.running.Go(func() { k.check(v) })
}

func (k *watchedKind) lags() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen.Load() < k.wanted
}

// check waits until a version is seen, and what is wanted meanwhile.
func (k *watchedKind) check(v uint64) {
	for Pause(k.observer.ctx, k.observer.clock, invisible) == nil {
		k.mu.Lock()
		if seen := k.seen.Load(); seen < v {
			k.renew()
		} else if seen >= k.wanted {
			k.checking = false
			k.mu.Unlock()
			return
		}
		v = k.wanted
		k.mu.Unlock()
	}
}

func (k *watchedKind) hasSynced() bool {
	select {
	case <-k.synced:
		return true
	default:
		return false
	}
}

// saw notes that everything up to a resource version is in the store.
func (k *watchedKind) saw(text string) {
	v := version(text)
	for {
		old := k.seen.Load()
		if v <= old || k.seen.CompareAndSwap(old, v) {
			return
		}
	}
}

// Add implements cache.ReflectorStore.
func (k *watchedKind) Add(item any) error { return k.put(item, k.objects.Add) }

// Update implements cache.ReflectorStore.
func (k *watchedKind) Update(item any) error { return k.put(item, k.objects.Update) }

// Delete implements cache.ReflectorStore.
func (k *watchedKind) Delete(item any) error { return k.put(item, k.objects.Delete) }

// put changes one object and tells of it.
func (k *watchedKind) put(item any, change func(any) error) error {
	item, err := slim(item)
	if err != nil {
		return err
	}
	if err := change(item); err != nil {
		return err
	}
	if obj, ok := item.(*unstructured.Unstructured); ok {
		k.saw(obj.GetResourceVersion())
		k.observer.changed(obj)
	}
	return nil
}

// Replace implements cache.ReflectorStore: a kind that is listed again may have
// lost objects.
func (k *watchedKind) Replace(items []any, version string) error {
	told := map[string]any{}
	for _, item := range k.objects.List() {
		if key, err := cache.MetaNamespaceKeyFunc(item); err == nil {
			told[key] = item
		}
	}
	for i, item := range items {
		slimmed, err := slim(item)
		if err != nil {
			return err
		}
		items[i] = slimmed
		if key, err := cache.MetaNamespaceKeyFunc(slimmed); err == nil {
			told[key] = slimmed
		}
	}
	if err := k.objects.Replace(items, version); err != nil {
		return err
	}
	k.saw(version)
	k.syncedOnce.Do(func() {
		close(k.synced)
		// What does not exist is known to be missing only from here on, and no
		// object tells so.
		k.observer.synced(k.kind)
	})
	for _, item := range told {
		if obj, ok := item.(*unstructured.Unstructured); ok {
			k.observer.changed(obj)
		}
	}
	return nil
}

// Resync implements cache.ReflectorStore; nothing is told twice.
func (k *watchedKind) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (k *watchedKind) Bookmark(version string) error {
	k.saw(version)
	return nil
}

// Transformer implements cache.TransformingStore, for what is listed in parts.
func (k *watchedKind) Transformer() cache.TransformFunc { return slim }
