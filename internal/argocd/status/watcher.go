package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// Config describes a Watcher.
type Config struct {
	// REST reaches the API server on which Argo CD runs. Client, if set, is used
	// instead.
	REST   *rest.Config
	Client dynamic.Interface
	// Namespace is Argo CD's own; empty means argocd. It is watched also where no
	// component lives in it.
	Namespace string
	// Applications names the Application of each component.
	Applications map[string]Ref
	Want         Want
	Mode         Mode
	// Clock is the source of time; nil means the system's.
	Clock clock.Clock
	// Requests, if set, counts what is asked of the API server.
	Requests *Requests
	// Inspector, if set, looks at live objects where the status of an Application
	// does not tell enough.
	Inspector *Inspector
}

// DefaultNamespace is where Argo CD lives if nothing else is said.
const DefaultNamespace = "argocd"

// Watcher keeps a view of the Applications and ApplicationSets of some
// namespaces. It is safe for concurrent use. Close ends its watches.
type Watcher struct {
	config Config
	client dynamic.Interface

	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	// begin guards synced, which is set once the watches were begun.
	begin  sync.Mutex
	synced []cache.InformerSynced

	mu sync.Mutex
	// applications, sets and changed are by name; components are those that an
	// Application stands for; owned are the Applications of a set.
	applications map[Ref]*entry
	sets         map[Ref]*Set
	projects     map[Ref]*Project
	changed      map[Ref]chan struct{}
	setChanged   chan struct{} // closed when any ApplicationSet changes
	components   map[Ref][]string
	owned        map[Ref]map[Ref]bool
	inspections  map[Ref]*inspection
	last         map[string]executor.Observation
	dirty        map[string]bool
	ready        chan struct{} // holds a token while there is something dirty
}

// entry is one Application, and what its history on the watch tells.
type entry struct {
	application *Application
	err         error // why it could not be read
	// asked and recompared are about the last operation, which had ended: a
	// comparison was asked for after that, and was made.
	asked, recompared bool
}

// New returns a Watcher. It does not talk to the server yet.
func New(config Config) (*Watcher, error) {
	if config.Namespace == "" {
		config.Namespace = DefaultNamespace
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	client := config.Client
	if client == nil {
		connection := rest.CopyConfig(config.REST)
		if config.Requests != nil {
			connection = config.Requests.Counted(config.REST)
		}
		connection.WarningHandler = rest.NoWarnings{}
		var err error
		if client, err = dynamic.NewForConfig(connection); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Watcher{
		config: config, client: client, ctx: ctx, stop: stop,
		applications: map[Ref]*entry{}, sets: map[Ref]*Set{}, projects: map[Ref]*Project{}, changed: map[Ref]chan struct{}{}, setChanged: make(chan struct{}), components: map[Ref][]string{}, owned: map[Ref]map[Ref]bool{}, inspections: map[Ref]*inspection{},
		last: map[string]executor.Observation{}, dirty: map[string]bool{}, ready: make(chan struct{}, 1),
	}
	for component, ref := range config.Applications {
		w.components[ref] = append(w.components[ref], component)
	}
	return w, nil
}

// Close ends the watches and waits for them.
func (w *Watcher) Close() {
	w.mu.Lock() // so that no inspection begins meanwhile
	w.stop()
	w.mu.Unlock()
	w.running.Wait()
}

// namespaces are those that are watched, sorted.
func (w *Watcher) namespaces() []string {
	out := []string{w.config.Namespace}
	for ref := range w.components {
		out = append(out, ref.Namespace)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Watch reports the health of every component whenever it changes, first its
// current one, until ctx ends. It calls sink from one goroutine.
func (w *Watcher) Watch(ctx context.Context, sink func(executor.Observation)) error {
	if err := w.Start(ctx); err != nil {
		return UnlessOver(ctx, err)
	}
	w.mu.Lock()
	clear(w.last)
	for component := range w.config.Applications {
		w.dirty[component] = true
	}
	w.signal()
	w.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.ready:
		}
		for _, o := range w.take() {
			sink(o)
		}
		select { // what one change brings about comes together
		case <-ctx.Done():
			return nil
		case <-w.config.Clock.After(settle):
		}
	}
}

// UnlessOver is an error of a watch that ended before its context did, and nil
// after that: nobody waits for it then.
func UnlessOver(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// settle is how long changes are gathered before they are told.
const settle = 10 * time.Millisecond

// take judges what changed, and returns what is to be told, by component.
func (w *Watcher) take() []executor.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]string, 0, len(w.dirty))
	for name := range w.dirty {
		names = append(names, name)
	}
	clear(w.dirty)
	slices.Sort(names)
	out := make([]executor.Observation, 0, len(names))
	for _, name := range names {
		seen := w.observation(name)
		w.inspectIfVague(w.config.Applications[name])
		before, told := w.last[name]
		before.At = seen.At
		w.last[name] = seen
		if !told || before != seen {
			out = append(out, seen)
		}
	}
	return out
}

// observation is what a component looks like now; the caller holds mu.
func (w *Watcher) observation(component string) executor.Observation {
	ref := w.config.Applications[component]
	j := w.judge(ref)
	o := executor.Observation{
		Component: component, Health: j.Health, Revision: j.Revision, Object: j.Object, Message: j.Message, Final: j.Final, At: w.config.Clock.Now(),
	}
	if e := w.applications[ref]; e != nil && e.application != nil && e.application.Set != "" {
		o.Message = w.inStep(e.application, j)
	}
	return o
}

// inStep adds to the message of an Application that RollingSync holds what it
// waits for; at a cost that does not depend on the size of the set.
func (w *Watcher) inStep(a *Application, j Judgement) string {
	set := w.sets[Ref{a.Ref.Namespace, a.Set}]
	if set == nil || !set.Rolling {
		return j.Message
	}
	p, listed := set.Progress[a.Ref.Name]
	if !listed || p.Status != "Waiting" || j.Code != NotSynced && j.Code != OtherRevision {
		return j.Message
	}
	return fmt.Sprintf("waits for step %d of ApplicationSet %s", p.Step, set.Ref.Name)
}

// judge judges an Application with all that is known of it; the caller holds mu.
func (w *Watcher) judge(ref Ref) Judgement {
	e := w.applications[ref]
	switch {
	case e == nil:
		return Judge(nil, w.config.Want, w.config.Mode, false)
	case e.err != nil:
		return Judgement{Health: rollout.Unknown, Code: InvalidSpec, Object: ref.Resource(), Message: words(e.err.Error())}
	}
	return w.refine(e.application, w.plain(e))
}

// plain judges an Application that could be read by its status alone.
func (w *Watcher) plain(e *entry) Judgement {
	return Judge(e.application, w.config.Want, w.config.Mode, e.recompared)
}

// signal wakes Watch; the caller holds mu.
func (w *Watcher) signal() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// touch has Watch look at an Application again; the caller holds mu.
func (w *Watcher) touch(ref Ref) {
	if c := w.changed[ref]; c != nil {
		close(c)
		delete(w.changed, ref)
	}
	for _, component := range w.components[ref] {
		w.dirty[component] = true
	}
	if len(w.components[ref]) > 0 {
		w.signal()
	}
}

// Application returns the Application as it was last seen; nil where there is
// none. It is shared and must not be changed.
func (w *Watcher) Application(ref Ref) *Application {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.applications[ref]; e != nil {
		return e.application
	}
	return nil
}

// Set returns an ApplicationSet as it was last seen; nil where there is none. It
// is shared and must not be changed.
func (w *Watcher) Set(ref Ref) *Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sets[ref]
}

// Forbidden says which sync windows of its project keep the automated sync of an
// Application from starting now; empty where none is known to.
func (w *Watcher) Forbidden(a *Application) string {
	w.mu.Lock()
	p := w.projects[Ref{w.config.Namespace, project(a.Project)}]
	w.mu.Unlock()
	if p == nil {
		return ""
	}
	return p.Forbids(a, w.config.Clock.Now())
}

// Judge judges an Application as it was last seen.
func (w *Watcher) Judge(ref Ref) Judgement {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.judge(ref)
}

// Why says why a component is not Healthy at the revision, the root cause first;
// it is empty where it is.
func (w *Watcher) Why(component string) []Cause {
	ref, ok := w.config.Applications[component]
	if !ok {
		return nil
	}
	return Explain(w, ref)
}

// All returns every Application that is seen, sorted by namespace and name.
func (w *Watcher) All() []*Application {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*Application, 0, len(w.applications))
	for _, e := range w.applications {
		if e.application != nil {
			out = append(out, e.application)
		}
	}
	slices.SortFunc(out, func(a, b *Application) int { return strings.Compare(a.Ref.String(), b.Ref.String()) })
	return out
}

// Await returns when a condition holds of an Application, which is nil where
// there is none. It asks now and after every change.
func (w *Watcher) Await(ctx context.Context, ref Ref, holds func(*Application, Judgement) bool) error {
	for {
		w.mu.Lock()
		var a *Application
		if e := w.applications[ref]; e != nil {
			a = e.application
		}
		j := w.judge(ref)
		c := w.changed[ref]
		if c == nil {
			c = make(chan struct{})
			w.changed[ref] = c
		}
		w.mu.Unlock()
		if holds(a, j) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return errClosed
		case <-c:
		}
	}
}

// AwaitSet returns when a condition holds of an ApplicationSet, which is nil where
// there is none.
func (w *Watcher) AwaitSet(ctx context.Context, ref Ref, holds func(*Set) bool) error {
	for {
		w.mu.Lock()
		set, c := w.sets[ref], w.setChanged
		w.mu.Unlock()
		if holds(set) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return errClosed
		case <-c:
		}
	}
}

var errClosed = errors.New("the watch of Applications has ended")
