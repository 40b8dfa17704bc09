package operator

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Engine applies the operator rules to a plane.
type Engine struct {
	ctx       context.Context //nolint:containedctx // it bounds the caches of the kinds that are followed
	world     *world.World
	workloads *world.Workloads
	loop      *world.Loop
	waiting   world.Waiting
	kinds     kinds
	rules     atomic.Pointer[rule.Set]
	public    *certificate.Authority

	mu      sync.Mutex
	objects map[string]*subject
	owned   map[types.UID]string // key by UID of the objects worked on
}

// subject is an object that is worked on.
type subject struct {
	uid      types.UID
	memories map[string]*memory // by the name of the rules
	// For kinds without a status subresource: the digest of everything but metadata and status, and the
	// first generation that had it.
	written    [sha256.Size]byte
	generation int64
}

// memory is what the engine remembers of one object for one rule.
type memory struct {
	first      time.Time     // first seen with its controller available
	takes      time.Duration // from then until it is ready, by its component
	expected   time.Duration // what was expected when that was decided
	met        time.Time     // since when everything it requires is there; zero while not
	unmet      time.Time     // since when something is missing; zero while nothing is
	children   map[world.Ref]string
	lastStatus string
	statusKeys []string      // fields that were reported
	told       string        // the last trouble told
	lag        time.Duration // until it is looked at again, while a cache is not filled
}

// New makes an engine and adds its handlers to the world. ctx bounds the caches
// of the custom resources it comes to follow. The authority signs what no
// authority on the plane does: certificates of public issuers.
func New(ctx context.Context, w *world.World, workloads *world.Workloads, rules *rule.Set, public *certificate.Authority) *Engine {
	e := &Engine{
		ctx: ctx, world: w, workloads: workloads, loop: world.NewLoop("operators", w.Clock, w.Log), public: public,
		kinds: kinds{all: map[string]*kind{}}, objects: map[string]*subject{}, owned: map[types.UID]string{},
	}
	e.rules.Store(rules)
	w.SetLookup(func(group, kind, namespace, name string) (metav1.Object, bool) {
		if u := e.kinds.object(group+"/"+kind, namespace, name); u != nil {
			return u, true
		}
		return nil, false
	})
	w.Definitions.Watch(func(o *apiextensionsv1.CustomResourceDefinition, deleted bool) { e.definition(o, deleted) })
	e.listen()
	workloads.Listen(e.workloadChanged)
	return e
}

// listen looks again at those that wait for an object, or own it, when it
// changes.
func (e *Engine) listen() {
	w := e.world
	wakeOn(e, world.Secrets, w.Secrets)
	wakeOn(e, world.ConfigMaps, w.ConfigMaps)
	wakeOn(e, world.Services, w.Services)
	wakeOn(e, world.Claims, w.Claims)
	wakeOn(e, world.Pods, w.Pods)
	wakeOn(e, world.Deployments, w.Deployments)
	wakeOn(e, world.StatefulSets, w.StatefulSets)
	wakeOn(e, world.DaemonSets, w.DaemonSets)
	wakeOn(e, world.Jobs, w.Jobs)
	w.Slices.Watch(func(o *discoveryv1.EndpointSlice, _ bool) {
		e.wake(world.Services, o.Namespace, o.Labels[discoveryv1.LabelServiceName])
	})
}

func wakeOn[T any](e *Engine, kind string, c world.Cache[T]) {
	c.Watch(func(o *T, _ bool) {
		if o, ok := any(o).(metav1.Object); ok {
			e.changed(kind, o)
		}
	})
}

func (e *Engine) changed(kind string, o metav1.Object) {
	e.wake(kind, o.GetNamespace(), o.GetName())
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return
	}
	e.mu.Lock()
	k, ok := e.owned[owner.UID]
	e.mu.Unlock()
	if ok {
		e.loop.Add(k)
	}
}

func (e *Engine) wake(kind, namespace, name string) {
	e.loop.Add(e.waiting.On(world.Ref{Kind: kind, Namespace: namespace, Name: name})...)
	// Those that wait for any object of the kind.
	e.loop.Add(e.waiting.On(world.Ref{Kind: kind, Namespace: namespace})...)
	if namespace != "" {
		e.loop.Add(e.waiting.On(world.Ref{Kind: kind})...)
	}
}

// workloadChanged looks again at every object that the workload may reconcile.
func (e *Engine) workloadChanged(w world.Workload) {
	for i, in := range e.rules.Load().Installers {
		if world.Matches(w, in.Controller) {
			e.loop.Add(key(installerID, "", strconv.Itoa(i)))
		}
	}
	for _, id := range e.kinds.ids() {
		if k := e.kinds.get(id); k != nil && k.informer != nil && e.reconciles(w, k) {
			e.addAll(k)
		}
	}
}

func (e *Engine) reconciles(w world.Workload, k *kind) bool {
	return slices.ContainsFunc(e.rules.Load().Operators, func(o *rule.CompiledOperator) bool {
		return applies(o, k) && world.Matches(w, o.Controller)
	})
}

func (e *Engine) addAll(k *kind) {
	for _, name := range k.informer.GetStore().ListKeys() {
		ns, name := world.SplitKey(name)
		e.loop.Add(key(k.id, ns, name))
	}
}

// Run works until ctx ends.
func (e *Engine) Run(ctx context.Context, workers int) {
	for _, k := range builtinKinds() {
		e.kinds.mu.Lock()
		e.kinds.all[k.id] = k
		if e.ruled(k) {
			e.follow(k)
		}
		e.kinds.mu.Unlock()
	}
	e.loop.Run(ctx, workers, e.sync)
}

// builtinKinds are the kinds of the API server itself that rules may be for.
func builtinKinds() []*kind {
	return []*kind{{
		id: "networking.k8s.io/Ingress", version: "v1", namespaced: true, hasStatus: true,
		gvr: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	}}
}

// SetRules replaces the rules and looks at everything again.
func (e *Engine) SetRules(rules *rule.Set) {
	e.rules.Store(rules)
	e.kinds.mu.Lock()
	for id, k := range e.kinds.all {
		if e.ruled(k) {
			e.followLocked(id)
		}
	}
	e.kinds.mu.Unlock()
	e.Refresh()
}

// Refresh looks at every object again, after the configuration has changed.
func (e *Engine) Refresh() {
	for i := range e.rules.Load().Installers {
		e.loop.Add(key(installerID, "", strconv.Itoa(i)))
	}
	for _, id := range e.kinds.ids() {
		if k := e.kinds.get(id); k != nil && k.informer != nil {
			e.addAll(k)
		}
	}
}

// ruled reports whether some rule is for the kind.
func (e *Engine) ruled(k *kind) bool {
	return slices.ContainsFunc(e.rules.Load().Operators, func(o *rule.CompiledOperator) bool { return applies(o, k) })
}

func applies(o *rule.CompiledOperator, k *kind) bool {
	return slices.Contains(o.For, k.id) || o.DefinedBy != "" && o.DefinedBy == k.definedBy
}

// coreKinds are the kinds of the API server itself that rules may make, with
// their versions.
func coreKind(group, name string) (schema.GroupVersionResource, bool) {
	versions := map[string]string{
		"": "v1", "apps": "v1", "batch": "v1", "policy": "v1", "networking.k8s.io": "v1", "autoscaling": "v2",
		"rbac.authorization.k8s.io": "v1", "apiextensions.k8s.io": "v1", "admissionregistration.k8s.io": "v1",
		"storage.k8s.io": "v1", "scheduling.k8s.io": "v1", "apiregistration.k8s.io": "v1", "discovery.k8s.io": "v1",
	}
	version, ok := versions[group]
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural(name)}, ok
}
