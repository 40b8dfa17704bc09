package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKindsInUse holds that what belongs to a custom resource goes with it, and that a
// namespace goes with the custom resources in it, while nothing is prepared for a kind
// of which there are no objects: a plane has room for hundreds of those.
func TestKindsInUse(t *testing.T) {
	t.Parallel()
	p, client := startPlane(t)
	defineWidgets(t, p, "unused.example.com", "size")
	defineWidgets(t, p, "used.example.com", "size")
	newNamespace(t, client, "full")
	widgets := dynamicOf(t, p).Resource(schema.GroupVersionResource{Group: "used.example.com", Version: "v1", Resource: "widgets"})
	make := func(namespace string) *unstructured.Unstructured {
		t.Helper()
		var made *unstructured.Unstructured
		eventually(t, func() (err error) {
			made, err = widgets.Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "used.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "owner"},
			}}, metav1.CreateOptions{})
			return err
		})
		return made
	}
	gone := func(what string, err error) error {
		if err == nil {
			return fmt.Errorf("%s is there", what)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	}

	owner := make("default")
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "owned", OwnerReferences: []metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The collector takes the finalizer away once it has seen both.
	foreground := metav1.DeletePropagationForeground
	if err := widgets.Namespace("default").Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, owned := client.CoreV1().ConfigMaps("default").Get(t.Context(), "owned", metav1.GetOptions{})
		_, owner := widgets.Namespace("default").Get(t.Context(), "owner", metav1.GetOptions{})
		return errors.Join(gone("what is owned", owned), gone("the owner", owner))
	})

	make("full")
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "full", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "full", metav1.GetOptions{})
		return gone("the namespace", err)
	})

	// A quota counts a kind that has no objects yet: it admits the first one once it knows
	// that there is none.
	defineWidgets(t, p, "counted.example.com", "size")
	if _, err := client.CoreV1().ResourceQuotas("default").Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/widgets.counted.example.com": resource.MustParse("1")}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watched := func(group string) bool {
		metrics, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(metrics), `watch_cache_capacity{group="`+group+`"`)
	}
	eventually(t, func() error {
		if !watched("counted.example.com") {
			return errors.New("nothing watches the kind that a quota counts")
		}
		return nil
	})
	for group, want := range map[string]bool{"used.example.com": true, "unused.example.com": false} {
		if got := watched(group); got != want {
			t.Errorf("a watch cache for %s: %t, want %t", group, got, want)
		}
	}
}
