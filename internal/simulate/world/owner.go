package world

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations and labels that say which component an object belongs to.
const (
	ComponentAnnotation = "ladder.rollout-ladder.dev/component"
	RevisionAnnotation  = "ladder.rollout-ladder.dev/revision"
	// trackingAnnotation is Argo CD's: "<application>:<group>/<kind>:<namespace>/<name>".
	trackingAnnotation = "argocd.argoproj.io/tracking-id"
)

// maxOwners bounds how far owners are followed: references may form a circle.
const maxOwners = 8

// Component names the component an object belongs to: that of the nearest
// object among itself and its owners that carries a mark; empty for none. It
// is not certain while an owner is not in the caches, which may lag.
func (w *World) Component(obj metav1.Object) (name string, certain bool) {
	for range maxOwners {
		if name := marked(obj.GetAnnotations()); name != "" {
			return name, true
		}
		owner := w.Owner(obj)
		if owner == nil {
			return "", len(obj.GetOwnerReferences()) == 0
		}
		obj = owner
	}
	return "", true
}

func marked(annotations map[string]string) string {
	if name := annotations[ComponentAnnotation]; name != "" {
		return name
	}
	if application, _, ok := strings.Cut(annotations[trackingAnnotation], ":"); ok {
		return application
	}
	return ""
}

// Owner returns the object's controller, else its first owner, or nil.
func (w *World) Owner(obj metav1.Object) metav1.Object {
	refs := obj.GetOwnerReferences()
	if len(refs) == 0 {
		return nil
	}
	ref := refs[0]
	if c := metav1.GetControllerOf(obj); c != nil {
		ref = *c
	}
	ns := obj.GetNamespace()
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil
	}
	if finder, clusterWide := w.Finder(gv.Group + "/" + ref.Kind); finder != nil {
		if clusterWide {
			ns = ""
		}
		owner, _ := finder.Object(ns, ref.Name).(metav1.Object)
		return owner
	}
	return w.Custom(gv.Group, ref.Kind, ns, ref.Name)
}
