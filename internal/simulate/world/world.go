package world

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	extinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
)

// World is the view of one plane.
type World struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// REST is the configuration the clients were made from; nil for others.
	REST  *rest.Config
	Clock *simtime.Clock
	Log   *slog.Logger
	// Caches are filled by Start.
	Caches

	informers informers.SharedInformerFactory
	extended  extinformers.SharedInformerFactory
	config    atomic.Pointer[settings.Config]
	lookup    atomic.Pointer[Lookup]
	budgets   budgets
}

// Lookup finds an object of a kind that World keeps no cache of: a custom
// resource.
type Lookup func(group, kind, namespace, name string) (metav1.Object, bool)

// New prepares the view; Start fills it.
func New(cfg *rest.Config, c *simtime.Clock, log *slog.Logger, initial settings.Config) (*World, error) {
	plain := rest.CopyConfig(cfg)
	plain.QPS = -1 // the plane is ours: no throttling on our side
	plain.UserAgent = "ladder-simulated-world"
	plain.WarningHandler = rest.NoWarnings{} // statuses may hold more than a schema knows
	binary := rest.CopyConfig(plain)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	extensions, err := apiext.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("make a client for custom resource definitions: %w", err)
	}
	dyn, err := dynamic.NewForConfig(plain)
	if err != nil {
		return nil, fmt.Errorf("make a dynamic client: %w", err)
	}
	w := NewFor(Clients{Plain: client, Extensions: extensions, Dynamic: dyn}, c, log, initial)
	w.REST = plain
	return w, nil
}

// Clients are how the world reaches a plane.
type Clients struct {
	Plain      kubernetes.Interface
	Extensions apiext.Interface
	Dynamic    dynamic.Interface
}

// NewFor prepares the view through clients.
func NewFor(clients Clients, c *simtime.Clock, log *slog.Logger, initial settings.Config) *World {
	w := &World{
		Client: clients.Plain, Dynamic: clients.Dynamic, Clock: c, Log: log,
		informers: informers.NewSharedInformerFactoryWithOptions(clients.Plain, 0, informers.WithTransform(dropManagedFields)),
		extended:  extinformers.NewSharedInformerFactoryWithOptions(clients.Extensions, 0, extinformers.WithTransform(dropSchemas)),
	}
	w.config.Store(&initial)
	w.Caches = newCaches(w.informers, w.extended)
	return w
}

// Start runs the caches until ctx ends and returns when they are filled. The
// parts add their handlers before.
func (w *World) Start(ctx context.Context) error {
	w.extended.Start(ctx.Done())
	w.informers.Start(ctx.Done())
	for kind, ok := range w.extended.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("fill the cache of %v: %w", kind, context.Cause(ctx))
		}
	}
	for kind, ok := range w.informers.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("fill the cache of %v: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// Config is the current configuration.
func (w *World) Config() settings.Config { return *w.config.Load() }

// SetConfig replaces the configuration, and has the clock go by its speed.
func (w *World) SetConfig(c settings.Config) {
	w.config.Store(&c)
	w.Clock.SetRate(c.Rate())
}

// Custom returns a custom resource that a rule is for, or nil.
func (w *World) Custom(group, kind, namespace, name string) metav1.Object {
	if lookup := w.lookup.Load(); lookup != nil {
		if o, ok := (*lookup)(group, kind, namespace, name); ok {
			return o
		}
	}
	return nil
}

// SetLookup tells how custom resources are found when owners are followed.
func (w *World) SetLookup(l Lookup) { w.lookup.Store(&l) }

func dropManagedFields(obj any) (any, error) {
	if o, err := meta.Accessor(obj); err == nil {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// dropSchemas leaves out the schemas: they are by far the greatest part of a
// definition, and nothing here looks at them.
func dropSchemas(obj any) (any, error) {
	if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.ManagedFields = nil
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Schema = nil
		}
	}
	return obj, nil
}

// Handler calls f with every object that is added, changed or deleted, in its
// last known state.
func Handler[T any](f func(obj T, deleted bool)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { call(f, obj, false) },
		UpdateFunc: func(_, obj any) { call(f, obj, false) },
		DeleteFunc: func(obj any) { call(f, obj, true) },
	}
}

func call[T any](f func(obj T, deleted bool), obj any, deleted bool) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if o, ok := obj.(T); ok {
		f(o, deleted)
	}
}
