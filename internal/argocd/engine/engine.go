package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// SelfHeal decides when an Application gets its automated sync back.
type SelfHeal int

// The policies.
const (
	// HoldUntilEnd gives it back in Release: nothing moves on to a newer commit
	// while the rollout goes on.
	HoldUntilEnd SelfHeal = iota
	// ReleaseHealthy gives it back as soon as the component is Healthy at the
	// revision while that is the head of its branch: drift is healed from then on,
	// and a newer commit is taken up at once, which the rollout then sees as a
	// component that has left its revision.
	ReleaseHealthy
)

// Config describes an engine.
type Config struct {
	// REST reaches the API server on which Argo CD runs. Client, if set, is used
	// instead.
	REST   *rest.Config
	Client dynamic.Interface
	// Namespace is Argo CD's own; empty means argocd.
	Namespace string
	// Applications names the Application of each component, Removals that of each
	// component that the rollout is to remove.
	Applications, Removals map[string]status.Ref
	// Revision is the commit that is rolled out, Repositories the addresses of the
	// repository it is a commit of; empty means that every source that is no chart
	// comes from it.
	Revision     string
	Repositories []string
	// Run identifies the rollout, the same after a resume. Empty means the
	// revision.
	Run      string
	SelfHeal SelfHeal
	// Health assesses live objects where the status of an Application does not tell
	// enough; nil means one without extra checks.
	Health *health.Assessor
	// Clock is the source of time; nil means the system's.
	Clock clock.Clock
	// QPS bounds the requests per second, 0 means 50, negative means no bound.
	QPS float32
	// Requests, if set, counts what is asked of the API server.
	Requests *status.Requests
}

// Engine implements executor.Engine over Applications.
type Engine struct {
	config  Config
	want    status.Want
	client  dynamic.Interface
	watcher *status.Watcher
	work    sync.WaitGroup
	ctx     context.Context
	stop    context.CancelFunc

	preparing sync.Mutex
	prepared  bool

	// label is the instance label, once it is known.
	labelling sync.Mutex
	label     string

	mu sync.Mutex
	// given are the tokens of operations that this process has stopped waiting
	// for, ended those whose end it has seen; synced are the components that it has
	// asked a sync for.
	given  map[string]bool
	ended  map[string]bool
	synced map[string]bool
	// released are Applications that this process has given their automated sync
	// back.
	released map[status.Ref]bool
	// held is what Applications were before this process has held them, until it
	// has given that back.
	held map[status.Ref]hold
	// late are Applications that were not there when the others were held.
	late map[status.Ref]bool
}

var _ executor.Engine = (*Engine)(nil)

// New returns an engine. It does not talk to the server yet. Close ends its
// watches; Release must be called before, when the rollout has ended.
func New(config Config) (*Engine, error) {
	if config.Revision == "" {
		return nil, errors.New("drive Applications: no revision is given to pin them to")
	}
	if config.Namespace == "" {
		config.Namespace = status.DefaultNamespace
	}
	if config.Run == "" {
		config.Run = config.Revision
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.QPS == 0 {
		config.QPS = 50
	}
	if config.Requests == nil {
		config.Requests = &status.Requests{}
	}
	client, err := connect(config)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(config.Applications)
	if all == nil {
		all = map[string]status.Ref{}
	}
	maps.Copy(all, config.Removals)
	var inspector *status.Inspector
	if config.REST != nil {
		if inspector, err = status.NewInspector(config.Requests.Counted(config.REST), config.Health); err != nil {
			return nil, err
		}
	}
	want := status.Want{Revision: config.Revision, Repositories: config.Repositories}
	watcher, err := status.New(status.Config{
		Client: client, Namespace: config.Namespace, Applications: all, Want: want, Mode: status.Drive, Clock: config.Clock, Inspector: inspector,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Engine{
		config: config, want: want, client: client, watcher: watcher, ctx: ctx, stop: stop,
		given: map[string]bool{}, ended: map[string]bool{}, synced: map[string]bool{}, released: map[status.Ref]bool{}, held: map[status.Ref]hold{}, late: map[status.Ref]bool{},
	}, nil
}

func connect(config Config) (dynamic.Interface, error) {
	if config.Client != nil {
		return config.Client, nil
	}
	connection := config.Requests.Counted(config.REST)
	connection.WarningHandler = rest.NoWarnings{}
	if config.QPS > 0 {
		connection.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, int(2*config.QPS))
	} else {
		connection.QPS = -1
	}
	client, err := dynamic.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return client, nil
}

// Close ends the watches of the engine and waits for them. What Argo CD does
// goes on.
func (e *Engine) Close() {
	e.stop()
	e.watcher.Close()
	e.work.Wait()
}

// Requests counts what the engine has asked of the API server.
func (e *Engine) Requests() *status.Requests { return e.config.Requests }

// Why says why a component is not Healthy at the revision, the root cause first.
func (e *Engine) Why(component string) []status.Cause { return e.watcher.Why(component) }

// Watch implements executor.Engine.
func (e *Engine) Watch(ctx context.Context, sink func(executor.Observation)) error {
	if err := e.Prepare(ctx); err != nil {
		return status.UnlessOver(ctx, err)
	}
	return e.watcher.Watch(ctx, func(o executor.Observation) {
		if _, removed := e.config.Removals[o.Component]; removed {
			if e.watcher.Judge(e.config.Removals[o.Component]).Code == status.BeingDeleted {
				sink(o)
			}
			return
		}
		e.holdLate(o.Component)
		sink(o)
		e.mayRelease(o)
	})
}

// Made waits until the Application of every component is there.
func (e *Engine) Made(ctx context.Context) error {
	if err := e.watcher.Start(ctx); err != nil {
		return err
	}
	for _, ref := range e.refs() {
		if err := e.watcher.Await(ctx, ref, func(a *status.Application, _ status.Judgement) bool { return a != nil }); err != nil {
			return err
		}
	}
	return nil
}

// mayRelease gives an Application its automated sync back where the policy is to
// do so as soon as it is Healthy and nothing newer is there.
func (e *Engine) mayRelease(o executor.Observation) {
	if e.config.SelfHeal != ReleaseHealthy || o.Health != rollout.Healthy || o.Revision != e.config.Revision {
		return
	}
	ref := e.config.Applications[o.Component]
	a := e.watcher.Application(ref)
	e.mu.Lock()
	ours := e.synced[o.Component]
	e.mu.Unlock()
	if a == nil || !ours || a.Annotations[status.HeldAnnotation] == "" || a.Status.Sync.Status != status.Synced {
		return
	}
	e.work.Go(func() {
		// What fails here is done again by Release.
		_ = e.release(e.ctx, ref)
	})
}

// holdLate holds an Application that somebody has made after the others were
// held, before the controller has looked at it, if it is quick enough; else its
// own sync is waited for.
func (e *Engine) holdLate(component string) {
	ref := e.config.Applications[component]
	a := e.watcher.Application(ref)
	e.mu.Lock()
	late := e.late[ref]
	if a != nil {
		delete(e.late, ref)
	}
	e.mu.Unlock()
	if !late || a == nil {
		return
	}
	e.work.Go(func() {
		// What fails here is done again by Sync.
		_ = e.holdAgain(e.ctx, ref)
	})
}

// refs are the Applications of the components, sorted.
func (e *Engine) refs() []status.Ref {
	out := slices.Collect(maps.Values(e.config.Applications))
	slices.SortFunc(out, func(a, b status.Ref) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// within bounds a wait by the engine's clock.
func (e *Engine) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := e.config.Clock.NewTimer(d)
	e.work.Go(func() {
		select {
		case <-ctx.Done():
		case <-timer.C():
			cancel()
		}
		timer.Stop()
	})
	return ctx, cancel
}
