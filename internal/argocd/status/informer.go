package status

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-ladder/ladder/internal/kube/informer"
)

// parsed is what the cache of an informer holds instead of whole objects.
type parsed struct {
	metav1.ObjectMeta
	kind        string
	application *Application
	set         *Set
	project     *Project
	err         error
}

// parse turns an object into what is kept of it. It is a cache.TransformFunc.
func parse(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // was parsed before
	}
	p := &parsed{ObjectMeta: metav1.ObjectMeta{
		Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}}
	switch u.GetKind() {
	case "ApplicationSet":
		p.set, p.err = ParseSet(u)
	case "AppProject":
		p.project, p.err = ParseProject(u)
	default:
		p.application, p.err = Parse(u)
	}
	p.kind = u.GetKind()
	return p, nil
}

// Start begins to watch and returns when everything that is there was seen. It
// fails where Applications cannot be listed; ApplicationSets need not be there.
// It may be called again.
func (w *Watcher) Start(ctx context.Context) error {
	w.begin.Lock()
	defer w.begin.Unlock()
	if w.synced == nil {
		synced, err := w.startInformers(ctx)
		if err != nil {
			return err
		}
		w.synced = synced
	}
	if !cache.WaitForCacheSync(ctx.Done(), w.synced...) {
		return fmt.Errorf("watch Applications: %w", context.Cause(ctx))
	}
	return nil
}

// startInformers begins the watches of what can be listed.
func (w *Watcher) startInformers(ctx context.Context) ([]cache.InformerSynced, error) {
	type kind struct {
		gvr       schema.GroupVersionResource
		namespace string
	}
	var kinds []kind
	for _, namespace := range w.namespaces() {
		if err := w.look(ctx, Applications(), namespace); err != nil {
			return nil, fmt.Errorf("list Applications of namespace %s: %w", namespace, err)
		}
		kinds = append(kinds, kind{Applications(), namespace})
		err := w.look(ctx, ApplicationSets(), namespace)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // nothing else depends on them
		case err != nil:
			return nil, fmt.Errorf("list ApplicationSets of namespace %s: %w", namespace, err)
		default:
			kinds = append(kinds, kind{ApplicationSets(), namespace})
		}
	}
	// Projects say when automated sync may start; what may not be read is not told.
	if w.look(ctx, Projects(), w.config.Namespace) == nil {
		kinds = append(kinds, kind{Projects(), w.config.Namespace})
	}
	var synced []cache.InformerSynced
	for _, k := range kinds {
		done, err := w.inform(k.gvr, k.namespace)
		if err != nil {
			return nil, err
		}
		synced = append(synced, done)
	}
	return synced, nil
}

// look asks whether a kind can be listed, so that a watch that never comes about
// is told at once.
func (w *Watcher) look(ctx context.Context, gvr schema.GroupVersionResource, namespace string) error {
	_, err := w.client.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	return err
}

func (w *Watcher) inform(gvr schema.GroupVersionResource, namespace string) (cache.InformerSynced, error) {
	source := informer.Source{Client: w.client, Resource: w.client.Resource(gvr).Namespace(namespace), Clock: w.config.Clock}
	informer := cache.NewSharedIndexInformer(source.ListerWatcher(), &unstructured.Unstructured{}, 0, cache.Indexers{})
	if err := informer.SetTransform(parse); err != nil {
		return nil, fmt.Errorf("watch %s: %w", gvr.Resource, err)
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.see(obj) },
		UpdateFunc: func(_, obj any) { w.see(obj) },
		DeleteFunc: func(obj any) { w.miss(obj) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", gvr.Resource, err)
	}
	w.running.Go(func() { informer.RunWithContext(w.ctx) })
	return registration.HasSynced, nil
}

// see takes up an object that is new or changed.
func (w *Watcher) see(obj any) {
	p, ok := obj.(*parsed)
	if !ok {
		return
	}
	ref := Ref{p.Namespace, p.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case p.set != nil:
		w.seeSet(p.set)
		return
	case p.project != nil:
		w.projects[ref] = p.project
		return
	case p.kind != "Application":
		return // a set or project that cannot be read
	}
	before := w.applications[ref]
	e := &entry{application: p.application, err: p.err}
	if before != nil && before.application != nil && e.application != nil {
		e.asked, e.recompared = carryOver(before, e.application)
	}
	w.applications[ref] = e
	w.own(ref, before, e)
	w.touch(ref)
}

// carryOver keeps what is known of comparisons after the last operation. The
// controller removes the annotation in the patch that writes a comparison which
// it began after it had seen the annotation; so one that was added after the
// operation had ended and is gone proves it.
func carryOver(before *entry, now *Application) (asked, recompared bool) {
	was, is := before.application.Status.OperationState, now.Status.OperationState
	if now.InProgress() || before.application.InProgress() || !is.Ended() || !was.Ended() ||
		was.StartedAt != is.StartedAt || was.FinishedAt != is.FinishedAt {
		return false, false
	}
	_, asks := now.Annotations[RefreshAnnotation]
	_, asking := before.application.Annotations[RefreshAnnotation]
	asked = before.asked && asks || asks && !asking
	return asked, before.recompared || before.asked && asking && !asks
}

// own keeps the Applications of each ApplicationSet; the caller holds mu.
func (w *Watcher) own(ref Ref, before, now *entry) {
	if before != nil && before.application != nil && before.application.Set != "" {
		delete(w.owned[Ref{ref.Namespace, before.application.Set}], ref)
	}
	if now != nil && now.application != nil && now.application.Set != "" {
		set := Ref{ref.Namespace, now.application.Set}
		if w.owned[set] == nil {
			w.owned[set] = map[Ref]bool{}
		}
		w.owned[set][ref] = true
	}
}

// seeSet takes up an ApplicationSet: only Applications whose place in it changed
// are looked at; the caller holds mu.
func (w *Watcher) seeSet(set *Set) {
	before := w.sets[set.Ref]
	w.sets[set.Ref] = set
	w.wakeSets()
	for ref := range w.owned[set.Ref] {
		if before == nil || before.Progress[ref.Name] != set.Progress[ref.Name] {
			w.touch(ref)
		}
	}
}

// wakeSets tells those who wait for ApplicationSets; the caller holds mu.
func (w *Watcher) wakeSets() {
	close(w.setChanged)
	w.setChanged = make(chan struct{})
}

// miss takes up that an object is gone.
func (w *Watcher) miss(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	p, ok := obj.(*parsed)
	if !ok {
		return
	}
	ref := Ref{p.Namespace, p.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch p.kind {
	case "AppProject":
		delete(w.projects, ref)
		return
	case "ApplicationSet":
		delete(w.sets, ref)
		w.wakeSets()
		for application := range maps.Clone(w.owned[ref]) {
			w.touch(application)
		}
		return
	}
	w.own(ref, w.applications[ref], nil)
	delete(w.applications, ref)
	w.touch(ref)
}
