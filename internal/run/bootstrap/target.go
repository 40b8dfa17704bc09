package bootstrap

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/kube/engine"
)

// The field managers.
const (
	// ArgoManager is Argo CD's own, for what Argo CD adopts. Source: argo-cd,
	// common.ArgoCDSSAManager.
	ArgoManager = "argocd-controller"
	// OwnManager owns Secrets and namespaces, which Argo CD does not adopt.
	OwnManager = "ladder-bootstrap"
)

// Marks on what is applied.
const (
	// ownAnnotation is on what a bootstrap applied. It goes when Argo CD adopts the
	// object. Its value is the same in all stages, two of which may apply an object.
	ownAnnotation = "ladder.rollout-ladder.dev/bootstrap"
	// digestAnnotation, on hooks, tells one of these manifests from an older one.
	digestAnnotation = "ladder.rollout-ladder.dev/bootstrap-digest"
	// trackingAnnotation is Argo CD's. Source: argo-cd, common.AnnotationKeyAppInstance.
	trackingAnnotation = "argocd.argoproj.io/tracking-id"
)

const (
	requestTimeout = 65 * time.Second
	// outagePatience is how long a request is repeated whose error goes away.
	outagePatience = 30 * time.Second
	// servePatience is how long a kind may take to be served after its CRD was
	// applied.
	servePatience = 30 * time.Second
	firstPause    = 100 * time.Millisecond
	longestPause  = 2 * time.Second
)

// target is the cluster.
type target struct {
	rest   *rest.Config
	client dynamic.Interface
	clock  clock.Clock
	mapper *restmapper.DeferredDiscoveryRESTMapper

	mu        sync.Mutex
	refreshed time.Time
}

func newTarget(config *rest.Config, c clock.Clock) (*target, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = 100, 200
	config.Timeout = requestTimeout
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &target{
		rest: config, client: client, clock: c,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d)),
	}, nil
}

// try repeats a request while its error is of the kind that goes away.
func (t *target) try(ctx context.Context, request func() error) error {
	began, wait := t.clock.Now(), firstPause
	for {
		err := request()
		if err == nil || ctx.Err() != nil || apierrors.IsConflict(err) || !engine.Transient(err) || t.clock.Since(began)+wait > outagePatience {
			if err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		if err := t.pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestPause)
	}
}

func (t *target) pause(ctx context.Context, d time.Duration) error {
	timer := t.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// unservedError means that the cluster does not serve a kind.
type unservedError struct{ gvk schema.GroupVersionKind }

// Error implements error.
func (e *unservedError) Error() string {
	return fmt.Sprintf("the cluster does not serve the kind %s of %s: its CRD is not installed", e.gvk.Kind, e.gvk.GroupVersion())
}

// resource finds how a kind is served; the error is an *unservedError where it is
// not.
func (t *target) resource(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (client dynamic.ResourceInterface, namespaced bool, err error) {
	var mapping *meta.RESTMapping
	err = t.try(ctx, func() (err error) {
		mapping, err = t.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) && t.refresh() {
			mapping, err = t.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		return err
	})
	if meta.IsNoMatchError(err) {
		return nil, false, &unservedError{gvk}
	}
	if err != nil {
		return nil, false, fmt.Errorf("find how %s is served: %w", gvk.Kind, err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return t.client.Resource(mapping.Resource), false, nil
	}
	return t.client.Resource(mapping.Resource).Namespace(namespace), true, nil
}

// refresh has the server asked again for its kinds, at most once a second.
func (t *target) refresh() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	if now.Sub(t.refreshed) < time.Second {
		return false
	}
	t.refreshed = now
	t.mapper.Reset()
	return true
}

// lateResource is resource for a kind whose CRD was applied a moment ago.
func (t *target) lateResource(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, bool, error) {
	until := t.clock.Now().Add(servePatience)
	for {
		client, namespaced, err := t.resource(ctx, gvk, namespace)
		if !errors.As(err, new(*unservedError)) || !t.clock.Now().Before(until) {
			return client, namespaced, err
		}
		if err := t.pause(ctx, 250*time.Millisecond); err != nil {
			return nil, false, err
		}
	}
}

// get reads a live object; nil where it is not there, or its kind is not served.
func (t *target) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	client, _, err := t.resource(ctx, gvk, namespace)
	if errors.As(err, new(*unservedError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.read(ctx, client, name)
}

func (t *target) read(ctx context.Context, client dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := t.try(ctx, func() (err error) {
		live, err = client.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// patch applies an object server-side and takes over fields of other managers.
func (t *target) patch(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured, manager string, dryRun bool) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	force := true
	options := metav1.PatchOptions{FieldManager: manager, Force: &force}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	var out *unstructured.Unstructured
	err = t.try(ctx, func() (err error) {
		out, err = client.Patch(ctx, obj.GetName(), types.ApplyPatchType, body, options)
		return err
	})
	return out, err
}

// remove deletes an object and returns when it is gone.
func (t *target) remove(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured) error {
	policy, uid := metav1.DeletePropagationForeground, live.GetUID()
	err := t.try(ctx, func() error {
		return client.Delete(ctx, live.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for {
		now, err := t.read(ctx, client, live.GetName())
		if err != nil || now == nil || now.GetUID() != uid {
			return err
		}
		if err := t.pause(ctx, firstPause); err != nil {
			return err
		}
	}
}

// adoptedBy says who looks after a live object that the bootstrap must leave
// alone: an Application of Argo CD, or the controller that owns it.
func adoptedBy(live *unstructured.Unstructured) (who string, adopted bool) {
	if id := live.GetAnnotations()[trackingAnnotation]; id != "" {
		name, _, _ := strings.Cut(id, ":")
		return "Application " + name, true
	}
	for _, owner := range live.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			return owner.Kind + " " + owner.Name, true
		}
	}
	// Argo CD that tracks by label only leaves no annotation. A client-side apply
	// shows as an update of its manager, a server-side one by taking our mark away.
	_, marked := live.GetAnnotations()[ownAnnotation]
	for _, f := range live.GetManagedFields() {
		if (f.Manager == ArgoManager || f.Manager == "argocd-application-controller") && f.Subresource == "" &&
			(f.Operation == metav1.ManagedFieldsOperationUpdate || !marked) {
			return "Argo CD", true
		}
	}
	return "", false
}

// clean is the object that is sent, without the fields that only the server
// writes.
func clean(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	delete(out.Object, "status")
	for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation", "generateName", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownAnnotation] = "applied"
	delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	out.SetAnnotations(annotations)
	encodeSecret(out)
	return out
}

// encodeSecret moves stringData to data: the manager that owns stringData could
// never remove a key.
func encodeSecret(obj *unstructured.Unstructured) {
	if obj.GetKind() != "Secret" || obj.GetAPIVersion() != "v1" {
		return
	}
	plain, ok := obj.Object["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := obj.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range plain {
		if text, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	delete(obj.Object, "stringData")
	obj.Object["data"] = data
}
