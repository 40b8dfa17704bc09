package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Config describes an engine.
type Config struct {
	RESTConfig *rest.Config
	// Components are those of the rollout; Objects holds what each renders to.
	Components []model.Component
	Objects    map[string][]manifest.Object
	// Revision is stamped on every object.
	Revision string
	// Run identifies the rollout, the same after a resume: hooks that have
	// succeeded in it are not run again. Empty means the revision.
	Run string
	// Scope names the platform that the components belong to; those of other
	// scopes are never removed. Requires are the gates of each component, which
	// are remembered for its removal.
	Scope    string
	Requires map[string][]string
	// FieldManager owns the applied fields; empty means "ladder".
	FieldManager string
	// Health assesses objects; nil means one without extra checks. The checks of
	// each component are added to it.
	Health *health.Assessor
	// Smoke says how smoke checks run. SmokeInterval is how long one waits at
	// most before it runs again while it does not hold, 0 means 5 s.
	Smoke         smoke.Options
	SmokeInterval time.Duration
	// DegradedGrace is how long an object that a wave waits for may be Degraded
	// before the sync fails; 0 means 3 s. Argo CD fails as soon as it looks, but
	// it looks every few seconds, and many operators report an error for the
	// moment in which they have not seen what was applied with the object.
	DegradedGrace time.Duration
	// Clock is the source of time; nil means the system's. Server is that for what
	// depends on the API server alone, such as repeated requests; nil means Clock.
	Clock, Server clock.Clock
	// Concurrency bounds the requests at once, 0 means 32; QPS bounds them per
	// second, 0 means 500, negative means no bound.
	Concurrency int
	QPS         float32
}

// Engine implements executor.Engine on an API server.
type Engine struct {
	*Client

	config     Config
	observer   *observer
	smokes     smoke.Client
	components map[string]*component
	// tracked maps every rendered object to the components that render it.
	tracked map[finding.Resource][]*component
	// crds maps kinds to their CRDs.
	crds map[schema.GroupKind]broughtCRD
	// clusterWide are the kinds without namespaces that those CRDs define.
	clusterWide map[schema.GroupKind]bool

	stop  context.CancelFunc
	dirty *dirtySet
	work  sync.WaitGroup

	removals removals
	// watching is set while Watch has seen what is there.
	watching atomic.Bool

	inventoryMu        sync.Mutex
	inventoryLoaded    bool
	inventoryNamespace bool
}

var _ executor.Engine = (*Engine)(nil)

// New returns an engine. It fails on a component whose health checks do not
// compile; it does not talk to the server yet. Close ends its watches, ctx does not.
func New(ctx context.Context, config Config) (*Engine, error) {
	if err := config.fill(); err != nil {
		return nil, err
	}
	connection := rest.CopyConfig(config.RESTConfig)
	connection.WarningHandler = rest.NoWarnings{}
	if config.QPS > 0 {
		connection.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, int(2*config.QPS))
	} else {
		connection.QPS = -1
	}
	// Watches take as long as they take, requests do not.
	watches, err := dynamic.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	connection.Timeout = requestTimeout
	client, d, err := kube.Connect(connection)
	if err != nil {
		return nil, err
	}
	return newEngine(ctx, config, client, watches, d)
}

// Behind reports whether nothing is watched yet, or something that was applied is not
// seen: what the engine reports is older than the cluster.
func (e *Engine) Behind() bool { return !e.watching.Load() || e.observer.lags() }

// BlindAt is the last moment by Config.Server at which the engine did not see all that
// it has to: a watch was away. It is zero where that never happened.
func (e *Engine) BlindAt() time.Time { return e.observer.blindAt() }

// fill sets the defaults.
func (c *Config) fill() error {
	if c.Revision == "" {
		return errors.New("an engine needs a revision")
	}
	if c.Run == "" {
		c.Run = c.Revision
	}
	if c.FieldManager == "" {
		c.FieldManager = "ladder"
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Server == nil {
		c.Server = c.Clock
	}
	if c.Concurrency == 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.QPS == 0 {
		c.QPS = 500
	}
	if c.SmokeInterval == 0 {
		c.SmokeInterval = 5 * time.Second
	}
	if c.DegradedGrace == 0 {
		c.DegradedGrace = 3 * time.Second
	}
	if c.Smoke.Now == nil {
		c.Smoke.Now = c.Clock.Now
	}
	if c.Health == nil {
		c.Health = health.New(health.WithClock(c.Server.Now))
	}
	return nil
}

func newEngine(ctx context.Context, config Config, client, watches dynamic.Interface, d discovery.DiscoveryInterface) (*Engine, error) {
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &Engine{
		Client: newClient(client, d, config.Server, config.Concurrency), config: config,
		smokes:     smoke.NewCluster(client, d, config.Server.Now),
		components: map[string]*component{}, tracked: map[finding.Resource][]*component{},
		crds: map[schema.GroupKind]broughtCRD{}, clusterWide: clusterWideKinds(config.Objects), stop: stop, dirty: newDirtySet(),
		removals: removals{others: map[owner]inventory{}, waiting: map[string]executor.Observation{}},
	}
	e.Client.established = e.established
	e.observer = newObserver(lasting, watches, config.Server, e.objectChanged, e.kindSynced)
	for _, m := range config.Components {
		if err := e.add(ctx, m); err != nil {
			stop()
			return nil, err
		}
	}
	e.findAdopters()
	return e, nil
}

// add takes in one component.
func (e *Engine) add(ctx context.Context, m model.Component) error {
	if e.components[m.Name] != nil {
		return fmt.Errorf("two components are named %s", m.Name)
	}
	assessor, err := e.config.Health.With(ctx, m.Health)
	if err != nil {
		return fmt.Errorf("component %s: %w", m.Name, err)
	}
	c := &component{
		name: m.Name, model: m, options: parseOptions(m.SyncOptions), assess: assessor.Assess,
		applied: map[finding.Resource]uint64{}, cache: map[finding.Resource]assessed{}, changed: make(chan struct{}),
	}
	// Without the option Argo CD compares without these fields, and applies them
	// all the same.
	if c.options.respectIgnored {
		if c.ignore, err = compileIgnore(ctx, m); err != nil {
			return err
		}
	}
	c.tasks = planTasks(e.landed(m), c.options, e.config.Revision)
	e.components[m.Name] = c
	for _, t := range c.tasks {
		e.track(t.resource, c)
		if t.object.GetNamespace() == "" {
			// It may turn out to be of a kind without namespaces.
			wide := t.resource
			wide.Namespace = ""
			e.track(wide, c)
		}
		if gk, ok := crdKind(t.object.Unstructured); ok {
			e.crds[gk] = broughtCRD{m.Name, t.resource}
		}
	}
	return nil
}

func (e *Engine) track(r finding.Resource, c *component) {
	if !slices.Contains(e.tracked[r], c) {
		e.tracked[r] = append(e.tracked[r], c)
	}
}

// landed fills in the namespace of objects that name none.
func (e *Engine) landed(m model.Component) []manifest.Object {
	objects := slices.Clone(e.config.Objects[m.Name])
	for i := range objects {
		gk := objects[i].GroupVersionKind().GroupKind()
		switch {
		case knownClusterWide(gk) || e.clusterWide[gk]:
			objects[i].Target = ""
			if objects[i].GetNamespace() != "" {
				objects[i].Unstructured = objects[i].DeepCopy()
				objects[i].SetNamespace("")
			}
		case objects[i].GetNamespace() == "" && objects[i].Target == "":
			objects[i].Target = m.Namespace
		}
	}
	return objects
}

// clusterWideKinds collects the kinds without namespaces that the CRDs of the
// rollout define.
func clusterWideKinds(objects map[string][]manifest.Object) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for _, list := range objects {
		for _, o := range list {
			scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
			if gk, ok := crdKind(o.Unstructured); ok && scope == "Cluster" {
				out[gk] = true
			}
		}
	}
	return out
}

// Close ends the watches of the engine and waits for them.
func (e *Engine) Close() {
	e.stop()
	e.work.Wait()
	e.observer.running.Wait()
}

// objectChanged is told about every object that changes in the cluster.
func (e *Engine) objectChanged(obj *unstructured.Unstructured) {
	e.observer.owners(obj, func(r finding.Resource) {
		for _, c := range e.tracked[r] {
			c.notify()
			e.dirty.add(c.name)
		}
	})
}

// kindSynced has every component look again that has objects of a kind.
func (e *Engine) kindSynced(gk schema.GroupKind) {
	for _, c := range e.components {
		if slices.ContainsFunc(c.tasks, func(t *task) bool { return groupKind(t) == gk }) {
			e.touch(c)
		}
	}
}

// touch makes Watch look at a component again.
func (e *Engine) touch(c *component) {
	c.notify()
	e.dirty.add(c.name)
}

// knownClusterWide lists the kinds of the API server that have no namespace.
// For other kinds discovery tells when they are applied.
func knownClusterWide(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return gk.Kind == "Namespace" || gk.Kind == "PersistentVolume" || gk.Kind == "Node"
	case "rbac.authorization.k8s.io":
		return strings.HasPrefix(gk.Kind, "Cluster")
	case "storage.k8s.io":
		return gk.Kind != "CSIStorageCapacity"
	case "apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io", "scheduling.k8s.io", "node.k8s.io":
		return true
	case "networking.k8s.io":
		return gk.Kind == "IngressClass"
	}
	return false
}

// groupKind is the kind of a task.
func groupKind(t *task) schema.GroupKind {
	return schema.GroupKind{Group: t.resource.Group, Kind: t.resource.Kind}
}
