package bootstrap

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/kube/engine"
)

// The field managers.
const (
	// ArgoManager is Argo CD's own, for what Argo CD adopts. Source: argo-cd,
	// common.ArgoCDSSAManager.
	ArgoManager = "argocd-controller"
	// OwnManager owns what Argo CD does not adopt: Secrets, namespaces, and the settings that came with it.
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

// servePatience is how long a kind may take to be served after its CRD was applied.
const servePatience = 30 * time.Second

// get reads a live object; nil where it is not there, or its kind is not served.
func (r *run) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	client, err := r.target.Resource(ctx, gvk, namespace, 0)
	if engine.Unserved(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.target.Get(ctx, client, name)
}

// create makes an object that is not there.
func (r *run) create(ctx context.Context, o *unstructured.Unstructured) (made bool, err error) {
	client, err := r.target.Resource(ctx, o.GroupVersionKind(), o.GetNamespace(), 0)
	if err != nil {
		return false, err
	}
	err = r.target.Try(ctx, func() error {
		_, err := client.Create(ctx, o, metav1.CreateOptions{FieldManager: OwnManager})
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, err
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
	engine.EncodeSecret(out)
	return out
}
