package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// Inspector looks at the live objects of an Application where its status does not
// tell enough: Argo CD keeps the health of single objects elsewhere since 3.0, and
// compares with the head of a branch that may have moved on. It reads objects of
// the cluster that Argo CD runs on only.
type Inspector struct {
	client   dynamic.Interface
	mapper   meta.ResettableRESTMapper
	assessor *health.Assessor
}

// NewInspector returns an Inspector for the cluster of a configuration; nil
// assessor means one without extra checks.
func NewInspector(config *rest.Config, assessor *health.Assessor) (*Inspector, error) {
	client, kinds, err := kube.Connect(config)
	if err != nil {
		return nil, err
	}
	if assessor == nil {
		assessor = health.New()
	}
	return &Inspector{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)), assessor}, nil
}

// Reaches reports whether the Application is on the cluster of the inspector.
// Source: argo-cd, KubernetesInternalAPIServerAddr and in-cluster.
func (i *Inspector) Reaches(a *Application) bool {
	return i != nil && (a.Destination.Server == "https://kubernetes.default.svc" || a.Destination.Server == "" && a.Destination.Name == "in-cluster")
}

// inspected is what an inspection found.
type inspected struct {
	health rollout.Health
	object finding.Resource
	words  string
}

// Inspect finds the worst of the live objects that the last sync applied. An error
// means that one could not be read.
func (i *Inspector) inspect(ctx context.Context, a *Application) (inspected, error) {
	worst := inspected{health: rollout.Healthy}
	s := a.Status.OperationState
	if s == nil || s.SyncResult == nil {
		return worst, fmt.Errorf("no sync of %s is known", a.Ref.Resource().Human())
	}
	for _, r := range s.SyncResult.Resources {
		if r.HookType != "" || r.Status != "Synced" || hasNoHealth(r.Group, r.Kind) {
			continue
		}
		status, err := i.assess(ctx, r)
		if err != nil {
			return worst, err
		}
		if health.Worse(status.Health, worst.health) {
			words := r.Resource().Human() + " is " + string(status.Health)
			if status.Message != "" {
				words = r.Resource().Human() + ": " + status.Message
			}
			worst = inspected{status.Health, r.Resource(), words}
		}
	}
	return worst, nil
}

// hasNoHealth lists kinds that are Healthy as soon as they are there, of which a
// platform has many.
func hasNoHealth(group, kind string) bool {
	switch kind {
	case "ConfigMap", "Secret", "ServiceAccount", "Namespace", "LimitRange", "ResourceQuota":
		return group == ""
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		return group == "rbac.authorization.k8s.io"
	}
	return false
}

// pods finds what the newest pod of a hook that has something to say waits for; its words
// are empty where none has.
func (i *Inspector) pods(ctx context.Context, hook finding.Resource) (inspected, error) {
	found := inspected{health: rollout.Progressing, object: hook}
	selector := metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + hook.Name}
	if hook.Kind == "Pod" {
		selector = metav1.ListOptions{FieldSelector: "metadata.name=" + hook.Name}
	}
	pods, err := i.client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(hook.Namespace).List(ctx, selector)
	if err != nil {
		return found, fmt.Errorf("list the pods of %s: %w", hook.Human(), err)
	}
	slices.SortFunc(pods.Items, func(a, b unstructured.Unstructured) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
	})
	for _, pod := range pods.Items {
		if reason := health.PodReason(&pod); reason != "" {
			found.words = fmt.Sprintf("pod %s: %s", pod.GetName(), reason)
			break
		}
	}
	return found, nil
}

func (i *Inspector) assess(ctx context.Context, r Result) (health.Status, error) {
	m, err := i.mapper.RESTMapping(schema.GroupKind{Group: r.Group, Kind: r.Kind}, r.Version)
	if meta.IsNoMatchError(err) {
		i.mapper.Reset()
		m, err = i.mapper.RESTMapping(schema.GroupKind{Group: r.Group, Kind: r.Kind}, r.Version)
	}
	if err != nil {
		return health.Status{}, fmt.Errorf("look up %s: %w", r.Kind, err)
	}
	var client dynamic.ResourceInterface = i.client.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		client = i.client.Resource(m.Resource).Namespace(r.Namespace)
	}
	obj, err := client.Get(ctx, r.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return health.Status{Health: rollout.Missing, Message: "does not exist"}, nil
	case err != nil:
		return health.Status{}, fmt.Errorf("read %s: %w", r.Resource().Human(), err)
	case health.Ignored(obj):
		return health.Status{Health: rollout.Healthy}, nil
	}
	status := i.assessor.Assess(ctx, obj)
	return status, ctx.Err()
}

// inspection is what is known of the live objects of an Application.
type inspection struct {
	running bool
	// of is the operation that had applied the objects.
	of    time.Time
	found *inspected
	// problem is why they cannot be seen.
	problem error
}

const (
	inspectFirst   = time.Second
	inspectAtLeast = 2 * time.Second
	inspectAtMost  = 30 * time.Second
)

// isVague reports whether the live objects tell more than a judgement.
func (w *Watcher) isVague(a *Application, j Judgement) bool {
	return a != nil && w.config.Inspector.Reaches(a) && (j.Code == Hidden || j.Code == ObjectHealth && j.Object == a.Ref.Resource() || isOfPods(j)) &&
		a.Status.OperationState != nil
}

// isOfPods reports whether a hook runs of which the pods say what it waits for.
func isOfPods(j Judgement) bool {
	return j.Code == HookWaits && (j.Object.Kind == "Job" && j.Object.Group == "batch" || j.Object.Kind == "Pod" && j.Object.Group == "")
}

// refine adds what the live objects tell to a judgement; the caller holds mu.
func (w *Watcher) refine(a *Application, j Judgement) Judgement {
	if !w.isVague(a, j) {
		return j
	}
	seen := w.inspections[a.Ref]
	switch {
	case seen == nil || !seen.of.Equal(a.Status.OperationState.FinishedAt):
		return j
	case j.Code == HookWaits: // the message says enough where the pods cannot be seen
		if seen.found != nil && seen.found.object == j.Object && seen.found.words != "" {
			j.Message = words(j.Message + "; " + seen.found.words)
		}
		return j
	case seen.problem != nil && seen.found == nil:
		j.Message = words(j.Message + "; its objects cannot be looked at: " + seen.problem.Error())
		return j
	case seen.found == nil:
		return j
	case j.Code == Hidden:
		j.Health, j.Code, j.Object, j.Message = seen.found.health, ObjectHealth, seen.found.object, words(seen.found.words)
		if j.Health == rollout.Healthy {
			j.Code, j.Message = None, ""
		}
	case seen.found.health != rollout.Healthy:
		j.Object, j.Message = seen.found.object, words(seen.found.words)
	}
	return j
}

// inspectIfVague begins to look at the live objects of an Application, as long as
// its status does not tell enough; the caller holds mu.
func (w *Watcher) inspectIfVague(ref Ref) {
	e := w.applications[ref]
	if e == nil || e.application == nil || !w.isVague(e.application, w.plain(e)) {
		return
	}
	seen := w.inspections[ref]
	if seen == nil {
		seen = &inspection{}
		w.inspections[ref] = seen
	}
	if seen.running || w.ctx.Err() != nil {
		return
	}
	seen.running = true
	w.running.Go(func() { w.keepInspecting(ref) })
}

// keepInspecting looks at live objects until the status of the Application tells
// enough. The time between two looks doubles while nothing changes.
func (w *Watcher) keepInspecting(ref Ref) {
	pause := inspectFirst
	for {
		w.mu.Lock()
		e := w.applications[ref]
		vague := e != nil && e.application != nil && w.isVague(e.application, w.plain(e))
		if !vague || w.ctx.Err() != nil {
			delete(w.inspections, ref)
			w.mu.Unlock()
			return
		}
		a, j := e.application, w.plain(e)
		urgent := j.Code == Hidden && w.inspections[ref].found == nil
		w.mu.Unlock()
		if !urgent && !w.pause(pause) {
			continue
		}
		look := func() (inspected, error) { return w.config.Inspector.inspect(w.ctx, a) }
		if isOfPods(j) {
			look = func() (inspected, error) { return w.config.Inspector.pods(w.ctx, j.Object) }
		}
		found, err := look()
		w.mu.Lock()
		seen := w.inspections[ref]
		news := seen.found == nil || *seen.found != found || !seen.of.Equal(a.Status.OperationState.FinishedAt)
		seen.of, seen.problem = a.Status.OperationState.FinishedAt, err
		if err != nil {
			seen.found, news = nil, true
		} else {
			seen.found = &found
		}
		w.touch(ref)
		w.mu.Unlock()
		if pause = min(2*pause, inspectAtMost); news {
			pause = inspectAtLeast
		}
	}
}

// pause waits; false where the Watcher was closed.
func (w *Watcher) pause(d time.Duration) bool {
	timer := w.config.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
