package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/store"
)

// world is a simulation: an API server in memory, the controllers of Argo CD as
// they are slow and fail by a seed, and what must hold at every version of every
// Application.
type world struct {
	*memory
	dice     *dice
	requires map[string][]string
	wake     map[string]chan struct{}

	mu         sync.Mutex
	violations []string
	before     map[string]*status.Application
	done       map[string]bool
	tokens     map[string][]string // the operations of each Application, in order
	saved      store.Saved
}

// newWorld begins a simulation: Applications, some of which are automated and some
// of an ApplicationSet, and random requirements.
func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		dice: &dice{seed: seed, cast: map[string]int{}}, requires: map[string][]string{}, wake: map[string]chan struct{}{},
		before: map[string]*status.Application{}, done: map[string]bool{}, tokens: map[string][]string{},
	}
	objects := []string{platformSet(rollingSteps)}
	for i := range 3 + w.dice.roll(4, "components") {
		name := string(rune('a' + i))
		for j := range i {
			if w.dice.roll(2, "requires") == 0 {
				w.requires[name] = append(w.requires[name], string(rune('a'+j)))
			}
		}
		policy := []string{"", "automated: {}", "automated: {prune: true, selfHeal: true}", "automated: {selfHeal: true}, retry: {limit: 2}, syncOptions: [Validate=false]"}[w.dice.roll(4, "policy")]
		metadata := ""
		if w.dice.roll(3, "set") == 0 {
			metadata = ofSet
		}
		objects = append(objects, owned(name, policy, metadata))
		w.requires[name] = slices.Clip(w.requires[name])
		w.wake[name] = make(chan struct{}, 1)
	}
	w.wake["platform"] = make(chan struct{}, 1)
	w.memory = newMemory(t, objects...)
	w.written = w.see
	return w
}

func (w *world) names() []string {
	var out []string
	for name := range w.wake {
		if name != "platform" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// meddle is a change of somebody else.
func (w *world) meddle(gvr schema.GroupVersionResource, name string) {
	_, _ = w.apply(gvr, "argocd", name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"somebody": strconv.Itoa(w.dice.roll(1000, "label"))}}})
}

// see looks at every version of an object as it is written. The order is that of
// the server.
func (w *world) see(obj *unstructured.Unstructured) {
	select {
	case w.wake[obj.GetName()] <- struct{}{}:
	default:
	}
	if obj.GetKind() != "Application" {
		return
	}
	a, err := status.Parse(obj)
	if err != nil {
		w.violated("%v", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	name := a.Ref.Name
	if token := a.Operation.Value(InfoToken); token != "" && !slices.Contains(w.tokens[name], token) {
		w.tokens[name] = append(w.tokens[name], token)
		if before := w.before[name]; before != nil && before.InProgress() {
			w.violations = append(w.violations, fmt.Sprintf("an operation of %s was overwritten", name))
		}
		for _, provider := range w.requires[name] {
			if !w.done[provider] {
				w.violations = append(w.violations, fmt.Sprintf("%s was started before %s was Healthy at the revision", name, provider))
			}
		}
	}
	w.before[name] = a
	j := status.Judge(a, status.Want{Revision: commit}, status.Drive, true)
	w.done[name] = j.Health == rollout.Healthy && j.Revision == commit
}

// controllers run until ctx ends.
func (w *world) controllers(ctx context.Context, running *sync.WaitGroup) {
	for name, wake := range w.wake {
		running.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-wake:
				}
				if name == "platform" {
					w.generate()
				} else {
					w.control(name)
				}
			}
		})
	}
}

// generate is what the ApplicationSet controller does with a request to do so.
func (w *world) generate() {
	w.pause("generates", "platform", 2*time.Second)
	obj := w.liveSet()
	if _, asked := obj.GetAnnotations()[status.SetRefreshAnnotation]; asked {
		w.write(status.ApplicationSets(), "platform", map[string]any{"metadata": map[string]any{"annotations": map[string]any{status.SetRefreshAnnotation: nil}}})
	}
}

func (w *world) write(gvr schema.GroupVersionResource, name string, patch map[string]any) {
	if _, err := w.apply(gvr, "argocd", name, patch); err != nil {
		w.violated("controller: %v", err)
	}
}

func (w *world) pause(what, name string, limit time.Duration) {
	time.Sleep(time.Duration(1+w.dice.roll(int(limit/time.Millisecond), what, name)) * time.Millisecond)
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// control is what the application controller does when an Application has
// changed: it carries out an operation, and compares.
func (w *world) control(name string) {
	w.pause("takes up", name, 2*time.Second)
	a := w.live(name)
	switch _, asked := a.Annotations[status.RefreshAnnotation]; {
	case a.Status.OperationState.IsTerminating():
		w.write(status.Applications(), name, map[string]any{"operation": nil, "status": map[string]any{"operationState": map[string]any{"phase": status.Failed, "message": "Operation terminated", "finishedAt": now()}}})
	case a.Operation != nil && !a.Started():
		w.carryOut(a)
	case asked:
		w.compare(name, map[string]any{status.RefreshAnnotation: nil})
	}
}

// carryOut runs an operation. It may take longer than a component has, and may
// fail.
func (w *world) carryOut(a *status.Application) {
	name := a.Ref.Name
	obj, err := w.client.Resource(status.Applications()).Namespace("argocd").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		w.violated("controller: %v", err)
		return
	}
	operation, _, _ := unstructured.NestedMap(obj.Object, "operation")
	if operation == nil {
		return // taken back
	}
	w.write(status.Applications(), name, map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": status.Running, "startedAt": now(), "operation": operation}}})
	if w.dice.roll(8, "is slow", name) == 0 {
		w.pause("works slowly", name, 10*time.Minute)
	} else {
		w.pause("works", name, 20*time.Second)
	}
	if w.live(name).Status.OperationState.IsTerminating() {
		return // its version wakes the controller
	}
	source, _, _ := unstructured.NestedMap(obj.Object, "spec", "source")
	revision, _, _ := unstructured.NestedString(operation, "sync", "revision")
	state := map[string]any{"phase": status.Succeeded, "finishedAt": now(), "syncResult": map[string]any{"revision": revision, "source": source}}
	if w.dice.roll(4, "fails", name) == 0 {
		state["phase"], state["message"] = status.Failed, "one or more objects failed"
	}
	w.write(status.Applications(), name, map[string]any{"operation": nil, "status": map[string]any{"operationState": state}})
	if state["phase"] == status.Succeeded && w.dice.roll(4, "compares", name) != 0 {
		w.pause("compares", name, 3*time.Second)
		w.compare(name, nil)
	}
}

// compare has the status say what is live, whose health takes its time.
func (w *world) compare(name string, annotations map[string]any) {
	a := w.live(name)
	reported := map[string]any{"reconciledAt": now()}
	there := a.Status.Sync.Revision == commit || a.IsApplied(status.Want{Revision: commit})
	if there {
		reported["sync"] = map[string]any{"status": status.Synced, "revision": commit}
	}
	settles := there && a.Status.Sync.Revision != commit
	if settles {
		reported["health"] = map[string]any{"status": "Progressing"}
	}
	w.write(status.Applications(), name, map[string]any{"metadata": map[string]any{"annotations": annotations}, "status": reported})
	if settles {
		w.pause("settles", name, 20*time.Second)
		w.write(status.Applications(), name, map[string]any{"status": map[string]any{"health": map[string]any{"status": "Healthy"}}})
	}
}

// process is one driver of the rollout.
type process struct {
	*Engine
	world *world
	link  *link
}

func (w *world) process(number int, run string) *process {
	l := &link{Interface: w.client, world: w, process: number, asked: map[string]int{}}
	apps := map[string]status.Ref{}
	for _, name := range w.names() {
		apps[name] = status.Ref{Namespace: "argocd", Name: name}
	}
	e, err := New(Config{Client: l, Applications: apps, Revision: commit, Run: run})
	if err != nil {
		w.t.Fatal(err)
	}
	return &process{Engine: e, world: w, link: l}
}

// Sync is one attempt.
func (p *process) Sync(ctx context.Context, component string) error {
	p.link.mu.Lock()
	p.link.asked[component] = 0
	p.link.mu.Unlock()
	return p.Engine.Sync(ctx, component)
}

// Remove is not asked for.
func (p *process) Remove(context.Context, string) ([]finding.Resource, error) { return nil, nil }

// Load, Append and Snapshot keep the state of the rollout; a process that is dead
// writes nothing.
func (p *process) Load() (store.Saved, error) { return p.world.saved, nil }

func (p *process) Append(records ...json.RawMessage) error {
	if p.link.dead.Load() {
		return errDead
	}
	p.world.saved.Records = append(p.world.saved.Records, records...)
	return nil
}

func (p *process) Snapshot(state json.RawMessage) error {
	if p.link.dead.Load() {
		return errDead
	}
	p.world.saved = store.Saved{Snapshot: state}
	return nil
}

var (
	_ executor.Engine = (*process)(nil)
	_ executor.Store  = (*process)(nil)
)

// policies is the part of every object that a rollout holds, as text.
func (w *world) policies() string {
	var out []string
	for _, name := range w.names() {
		policy, found := w.policy(name)
		text, _ := json.Marshal(policy)
		out = append(out, fmt.Sprintf("%s: %v %s, held %q", name, found, text, w.live(name).Annotations[status.HeldAnnotation]))
	}
	set := w.liveSet()
	spec, _ := json.Marshal(set.Object["spec"])
	return strings.Join(append(out, fmt.Sprintf("set: %s, held %q", spec, set.GetAnnotations()[status.HeldAnnotation])), "\n")
}
