package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// hold is the value of status.HeldAnnotation: what was there before the run took
// it away.
type hold struct {
	Run string `json:"run"`
	// Automated is spec.syncPolicy.automated of an Application, where an empty one
	// is not the same as none.
	Automated map[string]any `json:"automated"`
	// Steps are those of the strategy of an ApplicationSet, Policy its
	// spec.syncPolicy.applicationsSync.
	Steps  []map[string]any `json:"steps,omitempty"`
	Policy *string          `json:"applicationsSync,omitempty"`
}

// text is the value of the annotation.
func (h hold) text() string {
	data, err := json.Marshal(h)
	if err != nil {
		// It is made of what was read from JSON.
		return "{}"
	}
	return string(data)
}

// readHold reads the annotation of an object; nil where it has none.
func readHold(of finding.Resource, annotations map[string]string) (*hold, error) {
	text, ok := annotations[status.HeldAnnotation]
	if !ok {
		return nil, nil
	}
	var h hold
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return nil, fmt.Errorf("%s: annotation %s cannot be read: %w", of.Human(), status.HeldAnnotation, err)
	}
	return &h, nil
}

// atOnce bounds the requests that Prepare and Release make at once.
const atOnce = 8

// Prepare checks that the Applications can be driven, brings what makes them to
// the commit, and takes the automated sync away from those that would not wait
// for their turn, and the means to undo that from what makes them. It may be
// called again; Watch and Sync call it. It refuses with a *RefusedError. What it
// has held when it fails it gives back.
func (e *Engine) Prepare(ctx context.Context) error {
	e.preparing.Lock()
	defer e.preparing.Unlock()
	if e.prepared {
		return nil
	}
	if err := e.watcher.Start(ctx); err != nil {
		return err
	}
	o := &owners{seen: map[status.Ref]bool{}, seenSet: map[status.Ref]bool{}}
	for _, ref := range e.refs() {
		a := e.watcher.Application(ref)
		switch {
		case a == nil: // a root Application may make it yet
			e.mu.Lock()
			e.late[ref] = true
			e.mu.Unlock()
		case a.SourceHydrator != nil:
			o.refused = append(o.refused, Refusal{Application: ref, Reason: "their sources are hydrated, so that no commit of the repository can be synced",
				WayOut: "roll them out with --engine native, or let Argo CD sync them"})
		default:
			e.own(ctx, o, a)
		}
	}
	if len(o.refused) > 0 {
		return &RefusedError{Refusals: o.refused}
	}
	if err := e.holdAll(ctx, o); err != nil {
		// A rollout that does not begin leaves nothing held.
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
		defer cancel()
		return errors.Join(err, e.Release(after))
	}
	e.prepared = true
	return nil
}

// undoPatience bounds giving back what was held for a rollout that does not begin.
const undoPatience = 30 * time.Second

// holdAll holds owners, then Applications.
func (e *Engine) holdAll(ctx context.Context, o *owners) error {
	if err := e.holdOwners(ctx, o); err != nil {
		return err
	}
	group, bounded := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, ref := range e.refs() {
		a := e.watcher.Application(ref)
		if a != nil && e.needsHold(a) {
			group.Go(func() error { return e.hold(bounded, a) })
		}
	}
	return group.Wait()
}

// holdOwners holds parents from the top down, then ApplicationSets.
func (e *Engine) holdOwners(ctx context.Context, o *owners) error {
	for _, parent := range o.parents {
		if err := e.settleParent(ctx, parent); err != nil {
			return err
		}
		if err := e.hold(ctx, e.watcher.Application(parent.Ref)); err != nil {
			return err
		}
		if err := e.outlastComparison(ctx, parent); err != nil { // else it undoes what is held next
			return err
		}
	}
	for _, set := range o.sets {
		if err := e.holdSet(ctx, set); err != nil {
			return err
		}
	}
	return nil
}

// needsHold reports whether the controller might sync an Application out of turn.
func (e *Engine) needsHold(a *status.Application) bool {
	if !a.SyncPolicy.IsAutomated() || a.Deleting {
		return false
	}
	if !e.isFixed(a) {
		return true
	}
	j := status.Judge(a, e.want, status.Follow, false)
	return j.Revision != e.config.Revision || a.Status.Sync.Status != status.Synced
}

// isFixed reports whether the sources cannot move: those of the repository are at
// the revision itself, others at a commit, charts at one version.
func (e *Engine) isFixed(a *status.Application) bool {
	pinned := e.want.Pinned(a.Spec)
	for i, source := range a.AllSources() {
		target, _ := source["targetRevision"].(string)
		chart, _ := source["chart"].(string)
		switch {
		case slices.Contains(pinned, i):
			if target != e.config.Revision || !isCommit(target) {
				return false
			}
		case chart != "":
			if target == "" || strings.ContainsAny(target, "*xX^~<>=,| ") {
				return false
			}
		case !isCommit(target):
			return false
		}
	}
	return len(a.AllSources()) > 0
}

func isCommit(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

// hold takes the automated sync away, and writes down what it was, in one patch.
func (e *Engine) hold(ctx context.Context, a *status.Application) error {
	for {
		if a == nil || !a.SyncPolicy.IsAutomated() {
			return nil
		}
		record := hold{Run: e.config.Run, Automated: a.SyncPolicy.Automated}
		_, err := e.patch(ctx, a.Ref, map[string]any{
			"metadata": map[string]any{
				"resourceVersion": a.ResourceVersion, "annotations": map[string]any{status.HeldAnnotation: record.text()},
			},
			"spec": map[string]any{"syncPolicy": withoutAutomated(a.SyncPolicy)},
		})
		if err == nil {
			e.mu.Lock()
			delete(e.released, a.Ref)
			e.held[a.Ref] = record
			e.mu.Unlock()
			if ref := a.Ref; isOnlyRefreshed(a) {
				e.work.Go(func() {
					// What fails here is in the memory of this process all the same.
					_ = e.keepRecord(e.ctx, ref)
				})
			}
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if a, err = e.get(ctx, a.Ref); err != nil {
			return err
		}
	}
}

// isOnlyRefreshed reports whether somebody's request to compare again is the only
// annotation; see refreshedAnnotation.
func isOnlyRefreshed(a *status.Application) bool {
	_, asked := a.Annotations[status.RefreshAnnotation]
	return asked && len(a.Annotations) == 1
}

// keepRecord writes down again what an Application was before it was held, where
// the controller takes that away with a request to compare.
func (e *Engine) keepRecord(ctx context.Context, ref status.Ref) error {
	for {
		var a *status.Application
		err := e.watcher.Await(ctx, ref, func(now *status.Application, _ status.Judgement) bool {
			a = now
			return now == nil || now.Annotations[status.RefreshAnnotation] == ""
		})
		e.mu.Lock()
		record, held := e.held[ref]
		held = held && !e.released[ref]
		e.mu.Unlock()
		if err != nil || a == nil || !held || a.Annotations[status.HeldAnnotation] != "" {
			return err
		}
		_, err = e.patch(ctx, ref, map[string]any{"metadata": map[string]any{
			"resourceVersion": a.ResourceVersion, "annotations": map[string]any{status.HeldAnnotation: record.text()},
		}})
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := e.watcher.Await(ctx, ref, func(now *status.Application, _ status.Judgement) bool {
			return now == nil || now.ResourceVersion != a.ResourceVersion
		}); err != nil {
			return err
		}
	}
}

// withoutAutomated is the patch that takes the automated sync out of a policy, and
// the policy away where nothing is left of it: the controller removes an empty one
// by a patch that names no resource version, which would take away with it what is
// given back meanwhile. Source: argo-cd, normalizeApplication.
func withoutAutomated(p status.SyncPolicy) any {
	if p.OnlyAutomated() {
		return nil
	}
	return map[string]any{"automated": nil}
}

// holdAgain holds an Application that came after Prepare, or that got its
// automated sync back from somebody else.
func (e *Engine) holdAgain(ctx context.Context, ref status.Ref) error {
	a := e.watcher.Application(ref)
	e.mu.Lock()
	released := e.released[ref]
	e.mu.Unlock()
	if a == nil || released || !e.needsHold(a) || a.InProgress() && e.wants(a, a.Current()) {
		return nil
	}
	return e.hold(ctx, a)
}

// Release gives everything that was held for the rollout back, exactly as it was:
// what the Applications of the rollout lack, whatever run took it, and what this
// run took from others. It goes on after an error and returns all. It needs no
// Prepare, so that it also mends what a process that died left behind.
func (e *Engine) Release(ctx context.Context) error {
	applications, sets, err := e.list(ctx)
	if err != nil {
		return err
	}
	components := map[status.Ref]bool{}
	for _, ref := range e.refs() {
		components[ref] = true
	}
	above, setsAbove := e.above(applications, sets)
	var first, second, last []status.Ref
	for ref, m := range applications {
		e.mu.Lock()
		_, held := e.held[ref]
		e.mu.Unlock()
		switch {
		case !m.held && !m.refreshed && !held:
		case components[ref]:
			first = append(first, ref)
		case above[ref] || held || m.run == e.config.Run:
			last = append(last, ref)
		}
	}
	for ref, m := range sets {
		if m.held && (setsAbove[ref] || m.run == e.config.Run) {
			second = append(second, ref)
		}
	}
	// What makes Applications comes last: it finds them as it left them.
	return errors.Join(
		each(first, func(ref status.Ref) error { return e.release(ctx, ref) }),
		each(second, func(ref status.Ref) error { return e.releaseSet(ctx, ref) }),
		each(last, func(ref status.Ref) error { return e.release(ctx, ref) }),
	)
}

// each does the same for some objects, a few at once, and returns all errors.
func each(refs []status.Ref, do func(status.Ref) error) error {
	sortRefs(refs)
	errs := make([]error, len(refs))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, ref := range refs {
		group.Go(func() error {
			errs[i] = do(ref)
			return nil
		})
	}
	_ = group.Wait() // everything keeps its own error
	return errors.Join(errs...)
}

// marks is what Release looks at of an object.
type marks struct {
	held bool
	// refreshed is set where a comparison was asked for.
	refreshed bool
	run       string
	set       string // the ApplicationSet that owns it
	// parent applies it, where hasParent is set.
	parent    status.Ref
	hasParent bool
}

// list reads the marks of all Applications and ApplicationSets. Where the latter
// cannot be read none of them was held either.
func (e *Engine) list(ctx context.Context) (applications, sets map[status.Ref]marks, err error) {
	namespaces := map[string]bool{e.config.Namespace: true}
	for _, ref := range e.refs() {
		namespaces[ref.Namespace] = true
	}
	applications, sets = map[status.Ref]marks{}, map[status.Ref]marks{}
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		if err := e.listInto(ctx, applications, status.Applications(), namespace); err != nil {
			return nil, nil, err
		}
		if err := e.listInto(ctx, sets, status.ApplicationSets(), namespace); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return nil, nil, err
		}
	}
	return applications, sets, nil
}

func (e *Engine) listInto(ctx context.Context, out map[status.Ref]marks, kind schema.GroupVersionResource, namespace string) error {
	list, err := e.client.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list %s of namespace %s: %w", kind.Resource, namespace, err)
	}
	for _, obj := range list.Items {
		ref := status.Ref{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		var m marks
		var text string
		if text, m.held = obj.GetAnnotations()[status.HeldAnnotation]; m.held {
			var h hold
			if json.Unmarshal([]byte(text), &h) == nil { // else it is told when it is given back
				m.run = h.Run
			}
		}
		if run, ok := obj.GetAnnotations()[refreshedAnnotation]; ok {
			m.refreshed, m.run = true, cmp.Or(m.run, run)
		}
		m.parent, m.hasParent = e.parentOf(ref, obj.GetLabels(), obj.GetAnnotations(), e.instanceLabel(ctx))
		for _, owner := range obj.GetOwnerReferences() {
			if owner.Kind == "ApplicationSet" {
				m.set = owner.Name
			}
		}
		out[ref] = m
	}
	return nil
}

// above are the Applications and ApplicationSets that make those of the rollout.
func (e *Engine) above(applications, sets map[status.Ref]marks) (parents, above map[status.Ref]bool) {
	parents, above = map[status.Ref]bool{}, map[status.Ref]bool{}
	var climb func(m marks, namespace string)
	climb = func(m marks, namespace string) {
		if set := (status.Ref{Namespace: namespace, Name: m.set}); m.set != "" && !above[set] {
			above[set] = true
			climb(sets[set], namespace)
		}
		if m.hasParent && !parents[m.parent] {
			parents[m.parent] = true
			climb(applications[m.parent], m.parent.Namespace)
		}
	}
	for _, ref := range e.refs() {
		climb(applications[ref], ref.Namespace)
	}
	return parents, above
}

// release gives one Application its automated sync back. Where somebody has set
// it meanwhile, theirs stays.
func (e *Engine) release(ctx context.Context, ref status.Ref) error {
	e.mu.Lock()
	e.released[ref] = true
	e.mu.Unlock()
	for {
		a, err := e.get(ctx, ref)
		if err != nil {
			return err
		}
		if a == nil {
			return nil
		}
		held, err := readHold(a.Ref.Resource(), a.Annotations)
		if err != nil {
			return err
		}
		e.mu.Lock()
		remembered, known := e.held[ref]
		e.mu.Unlock()
		if held == nil && known {
			held = &remembered
		}
		if _, refreshed := a.Annotations[refreshedAnnotation]; held == nil && !refreshed {
			return nil
		}
		patch := map[string]any{"metadata": map[string]any{
			"resourceVersion": a.ResourceVersion, "annotations": map[string]any{status.HeldAnnotation: nil, refreshedAnnotation: nil},
		}}
		if a.SyncPolicy.Automated == nil && held != nil && held.Automated != nil {
			patch["spec"] = map[string]any{"syncPolicy": map[string]any{"automated": held.Automated}}
		}
		_, err = e.patch(ctx, ref, patch)
		if err == nil {
			e.mu.Lock()
			delete(e.held, ref)
			e.mu.Unlock()
		}
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}
