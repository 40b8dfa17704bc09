package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// dice gives the chances of one seed. What comes out for a name depends on how often
// it was asked for, not on which goroutine ran first.
type dice struct {
	seed uint64
	mu   sync.Mutex
	cast map[string]int
}

// roll is a number from 0 up to n.
func (d *dice) roll(n int, name ...any) int {
	key := fmt.Sprint(name...)
	d.mu.Lock()
	d.cast[key]++
	count := d.cast[key]
	d.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", d.seed, key, count)
	x := h.Sum64() // the low bits of neighbours are alike
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return int(x % uint64(n))
}

// link is how one process reaches the API server of a simulation: slowly, and not
// always.
type link struct {
	dynamic.Interface
	world *world
	// process is its number; dead is set when it was killed: what it has sent
	// arrives all the same.
	process int
	dead    atomic.Bool

	mu sync.Mutex
	// asked counts the operations that each Application was asked for since its
	// Sync began.
	asked map[string]int
}

var errDead = errors.New("the process is dead")

// IsWatchListSemanticsUnSupported is what the server below says as well.
func (l *link) IsWatchListSemanticsUnSupported() bool { return true }

func (l *link) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return &linked{NamespaceableResourceInterface: l.Interface.Resource(gvr), link: l, gvr: gvr}
}

type linked struct {
	dynamic.NamespaceableResourceInterface
	link *link
	gvr  schema.GroupVersionResource
}

func (r *linked) Namespace(namespace string) dynamic.ResourceInterface {
	return &linkedIn{ResourceInterface: r.NamespaceableResourceInterface.Namespace(namespace), link: r.link, gvr: r.gvr}
}

type linkedIn struct {
	dynamic.ResourceInterface
	link *link
	gvr  schema.GroupVersionResource
}

// send takes the time of a request, and says why it does not arrive.
func (r *linkedIn) send(verb, name string) error {
	l := r.link
	if l.dead.Load() {
		return errDead
	}
	key := []any{l.process, verb, r.gvr.Resource, name}
	time.Sleep(time.Duration(1+l.world.dice.roll(200, key...)) * time.Millisecond)
	switch l.world.dice.roll(20, append(key, "sent")...) {
	case 0:
		return apierrors.NewServerTimeout(r.gvr.GroupResource(), verb, 1)
	case 1:
		return apierrors.NewInternalError(errors.New("etcd is away"))
	case 2:
		return apierrors.NewTooManyRequests("later", 1)
	}
	return nil
}

func (r *linkedIn) Get(ctx context.Context, name string, options metav1.GetOptions, sub ...string) (*unstructured.Unstructured, error) {
	if err := r.send("get", name); err != nil {
		return nil, err
	}
	return r.ResourceInterface.Get(ctx, name, options, sub...)
}

func (r *linkedIn) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	if err := r.send("list", ""); err != nil {
		return nil, err
	}
	return r.ResourceInterface.List(ctx, options)
}

// Patch is what a process may have written without ever hearing of it.
func (r *linkedIn) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error) {
	if err := r.send("patch", name); err != nil {
		return nil, err
	}
	l := r.link
	if l.world.dice.roll(12, l.process, "somebody", name) == 0 {
		l.world.meddle(r.gvr, name)
	}
	arrive := func() (*unstructured.Unstructured, error) {
		obj, err := r.ResourceInterface.Patch(context.Background(), name, kind, data, options, sub...)
		if err == nil {
			l.count(name, data)
		}
		return obj, err
	}
	if ctx.Err() != nil {
		go func() { // it is on its way, and arrives when others are at work
			l.world.pause("arrives late", name, 5*time.Second)
			_, _ = arrive()
		}()
		return nil, ctx.Err()
	}
	obj, err := arrive()
	switch {
	case l.dead.Load():
		return nil, errDead
	case err == nil && l.world.dice.roll(12, l.process, "answer", name) == 0:
		return nil, apierrors.NewTimeoutError("the answer was lost", 1)
	}
	return obj, err
}

// count notes an operation that the server has accepted.
func (l *link) count(name string, data []byte) {
	var patch struct {
		Operation *status.Operation `json:"operation"`
	}
	if json.Unmarshal(data, &patch) != nil || patch.Operation == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[name]++; l.asked[name] > 1 {
		l.world.violated("process %d asked for %d operations of %s in one attempt", l.process, l.asked[name], name)
	}
}

// Watch tells what is there, then what changes, and breaks off or falls silent
// after a while.
func (r *linkedIn) Watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	if err := r.send("watch", ""); err != nil {
		return nil, err
	}
	l := r.link
	changes, err := r.ResourceInterface.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	there, err := r.ResourceInterface.List(ctx, metav1.ListOptions{})
	if err != nil {
		changes.Stop()
		return nil, err
	}
	out := make(chan apiwatch.Event)
	proxy := apiwatch.NewProxyWatcher(out)
	over := time.After(time.Duration(1+l.world.dice.roll(60, l.process, "breaks", r.gvr.Resource)) * time.Second)
	silent := l.world.dice.roll(8, l.process, "falls silent", r.gvr.Resource) == 0
	go func() {
		defer close(out)
		defer changes.Stop()
		relay(there, changes, out, proxy.StopChan(), over)
		if silent {
			<-proxy.StopChan()
		}
	}()
	return proxy, nil
}

// relay forwards events until a watch is stopped or its time is over. It was begun
// before the list was taken, so that nothing is missed; what the list has already
// is passed over.
func relay(there *unstructured.UnstructuredList, changes apiwatch.Interface, out chan<- apiwatch.Event, stopped <-chan struct{}, over <-chan time.Time) {
	told := map[string]int64{}
	send := func(event apiwatch.Event) bool {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return true
		}
		version, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
		if err != nil || version <= told[obj.GetName()] {
			return true
		}
		told[obj.GetName()] = version
		select {
		case out <- event:
			return true
		case <-stopped:
		case <-over:
		}
		return false
	}
	for i := range there.Items {
		if !send(apiwatch.Event{Type: apiwatch.Modified, Object: &there.Items[i]}) {
			return
		}
	}
	for {
		select {
		case <-stopped:
			return
		case <-over:
			return
		case event := <-changes.ResultChan():
			if !send(event) {
				return
			}
		}
	}
}
