package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// component is one component as the engine works on it.
type component struct {
	name    string
	model   model.Component
	options options
	// ignore are the differences that are respected: none without the sync option
	// RespectIgnoreDifferences.
	ignore ignored
	tasks  []*task
	assess func(context.Context, *unstructured.Unstructured) health.Status

	mu        sync.Mutex
	inventory inventory
	syncing   bool
	// applied is the resource version that each object had after it was
	// applied: what was seen before that says nothing about it.
	applied map[finding.Resource]uint64
	// waiting are the objects that a sync waits for between waves, hold is what
	// else it waits for.
	waiting []*task
	hold    hold
	// cache holds the last assessment of each object by its resource version.
	cache map[finding.Resource]assessed
	// changed is closed, and replaced, when one of its objects changed.
	changed chan struct{}
	smoke   smokeState
	// last is what Watch reported last.
	last executor.Observation
	told bool
}

// hold is something that a sync waits for before it can go on.
type hold struct {
	object  finding.Resource
	message string // empty for nothing
}

// setHold reports whether the hold changed.
func (c *component) setHold(h hold) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.hold != h
	c.hold = h
	return changed
}

type assessed struct {
	version string
	status  health.Status
}

func (c *component) setInventory(inv inventory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inventory = inv
}

func (c *component) getInventory() inventory {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inventory
}

// changes returns a channel that is closed at the next change.
func (c *component) changes() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// notify wakes whoever waits for a change.
func (c *component) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

// forgetTold has the next observation reported even when it is the same as the
// last: it is for another Watch.
func (c *component) forgetTold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = false
}

// beginSync forgets what was known of applied objects.
func (c *component) beginSync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.syncing, c.waiting, c.applied = true, nil, map[finding.Resource]uint64{}
}

func (c *component) endSync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.syncing, c.waiting, c.hold = false, nil, hold{}
}

func (c *component) wasApplied(r finding.Resource, obj *unstructured.Unstructured) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied[r] = version(obj.GetResourceVersion())
}

func (c *component) waitFor(tasks []*task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = tasks
}

// verdict is the health of one object of a component.
type verdict struct {
	task   *task
	object *unstructured.Unstructured // nil when it is not there
	status health.Status
}

// look assesses one object as the cluster last showed it. The caller holds mu.
func (c *component) look(ctx context.Context, o *observer, t *task) verdict {
	s := o.get(t.resource)
	applied := c.applied[t.resource]
	if s.object == nil {
		switch {
		case !s.watched && applied > 0:
			// A kind that cannot be watched has no health to wait for.
			return verdict{t, nil, health.Status{Health: rollout.Healthy}}
		case s.watched && !s.synced, s.seen < applied:
			return verdict{t, nil, health.Status{Health: rollout.Progressing, Message: "is not visible yet"}}
		}
		return verdict{t, nil, health.Status{Health: rollout.Missing, Message: "does not exist"}}
	}
	if version(s.object.GetResourceVersion()) < applied {
		return verdict{t, s.object, health.Status{Health: rollout.Progressing, Message: "is not visible yet as it was applied"}}
	}
	if health.Ignored(s.object) {
		return verdict{t, s.object, health.Status{Health: rollout.Healthy}}
	}
	status := c.assessCached(ctx, t.resource, s.object)
	if status.Health != rollout.Healthy && health.ByWorkloads(groupKind(t)) && s.object.Object["status"] == nil {
		status = o.byWorkloads(ctx, c.assess, s.object)
	}
	return verdict{t, s.object, status}
}

func (c *component) assessCached(ctx context.Context, r finding.Resource, obj *unstructured.Unstructured) health.Status {
	key := string(obj.GetUID()) + "/" + obj.GetResourceVersion()
	if a, ok := c.cache[r]; ok && a.version == key {
		return a.status
	}
	status := c.assess(ctx, obj)
	if ctx.Err() == nil {
		c.cache[r] = assessed{key, status}
	}
	return status
}

// observe is the health of the component as Watch reports it, without smokes.
func (c *component) observe(ctx context.Context, o *observer, revision string, now time.Time) executor.Observation {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := executor.Observation{Component: c.name, Health: rollout.Healthy, At: now, Revision: c.inventory.Revision}
	if out.Revision == "" && c.inventory.Previous != revision {
		// A sync of the same revision that is going on again has not been seen
		// whole.
		out.Revision = c.inventory.Previous
	}
	worst, missing, other := c.worst(ctx, o, revision)
	switch {
	case worst != nil:
		out.Health, out.Object = worst.status.Health, worst.task.resource
		out.Message = c.describe(o, worst)
		out.Final = failedForGood(worst)
	case missing != nil:
		out.Health, out.Object = rollout.Missing, missing.task.resource
		out.Message = missing.task.resource.Kind + " " + missing.task.resource.Name + " does not exist"
	}
	if c.syncing || c.inventory.Revision == "" {
		c.duringSync(ctx, o, &out, missing)
	} else if other != "" && out.Revision == revision {
		// Somebody applied another revision over ours.
		out.Revision = other
	}
	return out
}

// worst returns the object with the worst health, the first in the order of the
// sync where several are equal, and of one kind the first with a warning; missing
// objects apart; and a revision other than the wanted one that an object carries.
func (c *component) worst(ctx context.Context, o *observer, revision string) (worst, missing *verdict, other string) {
	for _, t := range c.tasks {
		if t.hook {
			continue
		}
		v := c.look(ctx, o, t)
		switch {
		case v.status.Health == rollout.Healthy:
		case v.status.Health == rollout.Missing:
			if missing == nil {
				missing = &v
			}
		case worst == nil || health.Worse(v.status.Health, worst.status.Health) || o.tellsMore(&v, worst):
			worst = &v
		}
		if v.object != nil && other == "" && !t.adoptedIs(v.object) && v.object.GetAnnotations()[RevisionAnnotation] != revision {
			other = cmp.Or(v.object.GetAnnotations()[RevisionAnnotation], "unknown")
		}
	}
	if missing != nil && (worst == nil || health.Worse(rollout.Missing, worst.status.Health)) {
		worst = nil // Missing outweighs what is only Progressing
	}
	return worst, missing, other
}

// tellsMore reports whether an object has the health and kind of another, and a warning, which the
// other has not: of two claims that are not bound one may only wait for the other.
func (o *observer) tellsMore(v, than *verdict) bool {
	return v.object != nil && than.object != nil && v.status.Health == than.status.Health && v.task.resource.Kind == than.task.resource.Kind &&
		o.warning(than.object) == "" && o.warning(v.object) != ""
}

// duringSync words the health of a component that is not wholly applied: what
// its sync waits for says more than what is not there yet.
func (c *component) duringSync(ctx context.Context, o *observer, out *executor.Observation, missing *verdict) {
	if c.hold.message != "" {
		out.Health, out.Object, out.Message = rollout.Progressing, c.hold.object, c.hold.message
		return
	}
	for _, t := range c.waiting {
		v := c.look(ctx, o, t)
		if v.status.Health == rollout.Healthy {
			continue
		}
		what := ""
		if t.hook {
			what = t.phase.String() + " hook "
		}
		out.Object, out.Message = t.resource, shorten(what+c.describe(o, &v))
		if out.Health == rollout.Healthy || out.Health == rollout.Missing {
			out.Health = rollout.Progressing
		}
		return
	}
	if missing == nil && out.Health == rollout.Healthy {
		out.Health = rollout.Progressing
		out.Message = "is being applied"
		if !c.syncing {
			out.Health, out.Message = rollout.Missing, "is not applied yet"
		}
		return
	}
	if missing != nil && out.Health == rollout.Missing && !c.syncing {
		out.Message = "is not applied yet"
	}
}

func (c *component) describe(o *observer, v *verdict) string {
	if v.object == nil {
		return v.task.resource.Kind + " " + v.task.resource.Name + " " + v.status.Message
	}
	return o.explain(v.object, v.status)
}

// failedForGood reports health that nothing but a new sync can change: a Job
// that used up its attempts.
func failedForGood(v *verdict) bool {
	return v.object != nil && v.status.Health == rollout.Degraded && v.task.resource.Group == "batch" && v.task.resource.Kind == "Job"
}

// unhealthy returns the first task that is not Healthy yet, and the first that
// has failed.
func (c *component) unhealthy(ctx context.Context, o *observer, tasks []*task) (waits, failed *verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range tasks {
		v := c.look(ctx, o, t)
		switch v.status.Health {
		case rollout.Healthy:
			continue
		case rollout.Degraded:
			if failed == nil {
				failed = &v
			}
		case rollout.Unknown:
			if t.hook && failed == nil {
				failed = &v
			}
		case rollout.Missing, rollout.Progressing, rollout.Suspended:
		}
		if waits == nil {
			waits = &v
		}
	}
	return waits, failed
}

// hasPhase reports whether the component has a task in a phase.
func (c *component) hasPhase(p manifest.SyncPhase) bool {
	return slices.ContainsFunc(c.tasks, func(t *task) bool { return t.phase == p })
}
