package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Times of controllers.
const (
	flapUp   = 60 * time.Second
	flapDown = 30 * time.Second
	moments  = 15 * time.Second
	// lookAgain is when an object is looked at again whose requirement is of a
	// kind that nobody follows.
	lookAgain = 10 * time.Second
	// shortest, in real time, keeps what repeats from keeping the plane busy at
	// great speeds.
	shortest = 500 * time.Millisecond
	// lagging is how soon is looked again at what the caches do not show yet; each time
	// it is twice as late, up to longest: a kind may not be served at all.
	lagging = 50 * time.Millisecond
	longest = 3200 * time.Millisecond
)

// work is one look at one object.
type work struct {
	engine *Engine
	key    string
	kind   *kind
	rule   *rule.CompiledOperator
	self   *unstructured.Unstructured
	comp   string
	memory *memory
	scope  rule.Scope
	refs   []world.Ref
	again  time.Duration
}

func (e *Engine) sync(ctx context.Context, k string) (time.Duration, error) {
	id, ns, name := splitKey(k)
	if id == installerID {
		return e.install(ctx, name)
	}
	kind := e.kinds.get(id)
	self := e.kinds.object(id, ns, name)
	if kind == nil || self == nil || self.GetDeletionTimestamp() != nil {
		e.forget(k)
		return 0, nil
	}
	if !kind.hasStatus {
		self = e.steady(k, self)
	}
	rules, err := e.choose(ctx, kind, self)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", k, err)
	}
	comp, _ := e.world.Component(self)
	var refs []world.Ref
	var again time.Duration
	var errs []error
	for _, c := range rules {
		w := &work{engine: e, key: k, kind: kind, self: self, comp: comp, rule: c.rule, memory: e.remember(k, c.rule.Name, self)}
		w.begin()
		w.scope = rule.Scope{"self": self.Object, "controller": c.controller, "held": false}
		if err := w.run(ctx); err != nil {
			errs = append(errs, w.trouble(err))
		}
		refs = append(refs, w.refs...)
		if w.again > 0 && (again == 0 || w.again < again) {
			again = w.again
		}
	}
	e.waiting.Set(k, refs)
	return again, errors.Join(errs...)
}

// chosen is a rule for an object, and the workload that reconciles it.
type chosen struct {
	rule       *rule.CompiledOperator
	controller map[string]any
}

// choose finds, of the rules of each name, the first one for the object whose
// controller is available.
func (e *Engine) choose(ctx context.Context, k *kind, self *unstructured.Unstructured) ([]chosen, error) {
	var out []chosen
	scope := rule.Scope{"self": self.Object}
	for i, o := range e.rules.Load().Operators {
		if !applies(o, k) || slices.ContainsFunc(out, func(c chosen) bool { return c.rule.Name == o.Name }) {
			continue
		}
		ok, err := o.WhenExpr.Holds(ctx, scope)
		if err != nil {
			return nil, fmt.Errorf("rule of %s: when: %w", o.Source, err)
		}
		if !ok {
			continue
		}
		c := chosen{rule: o}
		if len(o.Controller) > 0 {
			w, ok := e.workloads.Find("operator/"+strconv.Itoa(i)+o.Source, o.Controller)
			if !ok || !w.Available {
				continue
			}
			c.controller = map[string]any{"kind": w.Kind, "namespace": w.Namespace, "name": w.Name}
		}
		out = append(out, c)
	}
	return out, nil
}

// begin decides how long the object takes, unless that is decided and nothing else is
// expected of it since.
func (w *work) begin() {
	m, alone := w.memory, w.engine.world.Config().Delay(w.comp, w.key)
	switch {
	case w.comp == "" || m.expected == alone:
	case m.expected == 0:
		m.takes, m.expected = w.engine.world.Begin(w.comp, w.key, alone), alone
	default: // its share stays: what is ready must not have to begin again
		m.takes = time.Duration(float64(m.takes) * float64(alone) / float64(m.expected))
		m.expected = alone
	}
}

func (w *work) run(ctx context.Context) error {
	vars, err := w.rule.VarValues.Map(ctx, w.scope)
	if err != nil {
		return err
	}
	if vars == nil {
		vars = map[string]any{}
	}
	w.scope["vars"] = vars
	unmet, err := w.requirements(ctx)
	if errors.Is(err, errLagging) {
		w.lags(err)
		return nil
	}
	w.memory.lag = 0
	if err != nil {
		return err
	}
	now := w.engine.world.Clock.Now()
	if unmet != nil {
		return w.lacks(ctx, unmet, now)
	}
	w.memory.unmet = time.Time{}
	if w.memory.met.IsZero() {
		w.memory.met = now
	}
	early := w.memory.met.Add(time.Duration(w.rule.Delay))
	due := early
	if w.comp != "" {
		if byComponent := w.memory.first.Add(w.memory.takes); byComponent.After(due) {
			due = byComponent
		}
	}
	start := due
	if w.hasWork() {
		start = early // what it makes takes its time by itself
	}
	if left := start.Sub(now); left > 0 {
		w.look(left)
		return nil // the controller has not come to it yet
	}
	return w.make(ctx, now, due)
}

// lags looks again later and later, and tells once where that does not help.
func (w *work) lags(err error) {
	w.memory.lag = min(max(2*w.memory.lag, lagging), longest)
	if w.memory.lag == longest {
		_ = w.trouble(err) // told; the look is repeated here
	}
	w.look(w.engine.world.Clock.AtLeast(w.memory.lag, w.memory.lag))
}

// lacks reports that something is missing. What is applied together appears
// within moments; nothing is reported before those have passed.
func (w *work) lacks(ctx context.Context, unmet *rule.CompiledRequirement, now time.Time) error {
	w.memory.met = time.Time{}
	if w.memory.unmet.IsZero() {
		w.memory.unmet = now
	}
	if left := w.memory.unmet.Add(moments).Sub(now); left > 0 {
		w.look(left)
		return nil
	}
	return w.wait(ctx, unmet)
}

// make makes the children and reports ready when they are.
func (w *work) make(ctx context.Context, now, due time.Time) error {
	fault := w.engine.world.Config().Fault(w.comp).Kind
	held := fault == settings.NeverReady || fault == settings.Crash
	if fault == settings.Flap {
		up, down := w.engine.flapTimes()
		at := now.Sub(due) % (up + down)
		held = at >= up
		if held {
			w.look(up + down - at)
		} else {
			w.look(max(up-at, time.Millisecond))
		}
	}
	w.scope["held"] = held
	if held && !w.hasWork() {
		return w.wait(ctx, nil)
	}
	if w.rule.Maker != "" {
		if done, err := w.maker(ctx); err != nil || !done {
			return err
		}
	}
	ready, err := w.children(ctx)
	if err != nil {
		return err
	}
	if left := due.Sub(now); !ready || held || left > 0 {
		if left > 0 {
			w.look(left)
		}
		return w.wait(ctx, nil)
	}
	status, err := w.rule.Ready.Map(ctx, w.scope)
	if err != nil {
		return fmt.Errorf("status.ready: %w", err)
	}
	return w.writeStatus(ctx, status)
}

// wait reports that the object is not ready, in the words for the requirement
// that is not met, if it is one.
func (w *work) wait(ctx context.Context, unmet *rule.CompiledRequirement) error {
	template := w.rule.Waiting
	if unmet != nil && unmet.WaitingStatus != nil {
		template = unmet.WaitingStatus
	}
	status, err := template.Map(ctx, w.scope)
	if err != nil {
		return fmt.Errorf("status.waiting: %w", err)
	}
	return w.writeStatus(ctx, status)
}

// hasWork reports whether the controller makes something that takes time of its
// own to become ready.
func (w *work) hasWork() bool {
	for _, c := range w.rule.ChildRules {
		if kind, _ := c.Object["kind"].(string); takesTime(kind) {
			return true
		}
	}
	return false
}

// takesTime is true of the kinds that the plane itself, or other rules, make ready
// later.
func takesTime(kind string) bool {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "Pod", "Job", "PersistentVolumeClaim", "InstallPlan", "ClusterServiceVersion":
		return true
	}
	return false
}

func (w *work) look(after time.Duration) {
	if w.again == 0 || after < w.again {
		w.again = after
	}
}

// trouble tells about a rule that cannot be carried out, once. It is an error
// of a rule, or of the API server, which may pass.
func (w *work) trouble(err error) error {
	err = fmt.Errorf("%s by rule of %s: %w", w.key, w.rule.Source, err)
	if w.memory.told != err.Error() {
		w.memory.told = err.Error()
		w.engine.world.Log.Warn("simulated world: a controller fails", "error", err)
	}
	return err
}

func (e *Engine) flapTimes() (up, down time.Duration) {
	return e.world.Clock.AtLeast(flapUp, shortest), e.world.Clock.AtLeast(flapDown, shortest)
}

// remember returns what is remembered of the object for the rules of a name;
// one of the same name that was made anew starts afresh.
func (e *Engine) remember(k, ruleName string, o metav1.Object) *memory {
	e.mu.Lock()
	defer e.mu.Unlock()
	memories := e.subject(k, o).memories
	if memories[ruleName] == nil {
		memories[ruleName] = &memory{first: e.world.Clock.Now(), children: map[world.Ref]string{}}
	}
	return memories[ruleName]
}

// subject is what is remembered of an object. Engine.mu is held.
func (e *Engine) subject(k string, o metav1.Object) *subject {
	if s := e.objects[k]; s == nil || s.uid != o.GetUID() {
		if s != nil {
			delete(e.owned, s.uid)
		}
		e.objects[k] = &subject{uid: o.GetUID(), memories: map[string]*memory{}}
		e.owned[o.GetUID()] = k
	}
	return e.objects[k]
}

// steady is an object of a kind without a status subresource, with the generation that it had before its
// status was written: each time makes a new one there, and what a rule makes of the generation would be
// written again and again.
func (e *Engine) steady(k string, self *unstructured.Unstructured) *unstructured.Unstructured {
	written := maps.Clone(self.Object)
	delete(written, "metadata")
	delete(written, "status")
	text, err := json.Marshal(written)
	if err != nil {
		return self
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.subject(k, self)
	if sum := sha256.Sum256(text); s.written != sum {
		s.written, s.generation = sum, self.GetGeneration()
	}
	steady := &unstructured.Unstructured{Object: maps.Clone(self.Object)}
	if metadata, ok := self.Object["metadata"].(map[string]any); ok {
		steady.Object["metadata"] = maps.Clone(metadata)
	}
	steady.SetGeneration(s.generation)
	return steady
}

func (e *Engine) forget(k string) {
	e.mu.Lock()
	if s := e.objects[k]; s != nil {
		delete(e.owned, s.uid)
		delete(e.objects, k)
	}
	e.mu.Unlock()
	e.waiting.Set(k, nil)
}
