package snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/repo/installation"
)

// clusterSecrets selects the Secrets that stand for clusters. Source: Argo CD,
// "Declarative Setup", clusters.
const clusterSecrets = "argocd.argoproj.io/secret-type=cluster"

const (
	// page is how many objects are asked for at once.
	page = 500
	// pages bounds the objects of one kind: a server may never come to an end.
	pages = 200
)

// Snapshot is what Argo CD knows.
type Snapshot struct {
	// Objects are sorted by kind, namespace and name.
	Objects []*unstructured.Unstructured
	// LeftOut names what may be secret and was left out, Unread what could not be
	// asked for, each sorted.
	LeftOut, Unread []string
}

// NoArgoCDError says that a namespace has no Argo CD.
type NoArgoCDError struct{ Namespace string }

// Error implements error.
func (e *NoArgoCDError) Error() string {
	return fmt.Sprintf("namespace %s has no ConfigMap %s, so Argo CD is not installed there", e.Namespace, installation.Settings)
}

// Take reads what the Argo CD in a namespace knows. A namespace without one is a
// *NoArgoCDError.
func Take(ctx context.Context, config *rest.Config, namespace string) (*Snapshot, error) {
	connection := rest.CopyConfig(config)
	connection.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(connection)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return take(ctx, client, namespace)
}

func take(ctx context.Context, client dynamic.Interface, namespace string) (*Snapshot, error) {
	t := &taking{client: client, namespace: namespace}
	steps := []func(context.Context) error{t.configMaps, t.workloads, t.clusters, t.objects}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	slices.Sort(t.cleaner.leftOut)
	return &Snapshot{Objects: t.taken, LeftOut: slices.Compact(t.cleaner.leftOut), Unread: t.unread}, nil
}

// taking is a snapshot that is being taken.
type taking struct {
	client    dynamic.Interface
	namespace string
	cleaner   cleaner
	taken     []*unstructured.Unstructured
	unread    []string
}

// add takes objects in, sorted by namespace and name, each as clean leaves it.
func (t *taking) add(list []unstructured.Unstructured, clean func(*unstructured.Unstructured) *unstructured.Unstructured) {
	slices.SortFunc(list, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	for i := range list {
		if o := clean(&list[i]); o != nil {
			t.taken = append(t.taken, o)
		}
	}
}

// configMaps reads the settings.
func (t *taking) configMaps(ctx context.Context) error {
	resource := t.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(t.namespace)
	for _, name := range []string{installation.Settings, installation.Parameters, installation.Policies} {
		o, err := resource.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && name == installation.Settings:
			return &NoArgoCDError{t.namespace}
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("read ConfigMap %s/%s: %w", t.namespace, name, err)
		}
		t.add([]unstructured.Unstructured{*o}, t.cleaner.configMap)
	}
	return nil
}

// workloads reads how the processes of Argo CD are started: an argument or a variable
// may be in the place of a setting.
func (t *taking) workloads(ctx context.Context) error {
	for _, name := range []string{"deployments", "statefulsets"} {
		list, err := t.list(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: name}, t.namespace, "")
		if err != nil {
			return err
		}
		t.add(list, t.cleaner.workload)
	}
	return nil
}

// clusters reads the clusters.
func (t *taking) clusters(ctx context.Context) error {
	list, err := t.list(ctx, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, t.namespace, clusterSecrets)
	if err != nil {
		return err
	}
	t.add(list, t.cleaner.cluster)
	return nil
}

// objects reads what people write: in all namespaces, or where that is not allowed, in
// that of Argo CD.
func (t *taking) objects(ctx context.Context) error {
	for _, name := range []string{"appprojects", "applicationsets", "applications"} {
		resource := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: name}
		namespace := metav1.NamespaceAll
		if name == "appprojects" {
			namespace = t.namespace // others are not read. Source: Argo CD, "Projects"
		}
		list, err := t.list(ctx, resource, namespace, "")
		if apierrors.IsForbidden(err) && namespace == metav1.NamespaceAll {
			t.unread = append(t.unread, fmt.Sprintf("%s of namespaces other than %s may not be listed", name, t.namespace))
			list, err = t.list(ctx, resource, t.namespace, "")
		}
		if err != nil {
			return err
		}
		t.add(list, t.cleaner.object)
	}
	return nil
}

// list lists objects, page by page. A kind that the cluster does not have has none.
func (t *taking) list(ctx context.Context, resource schema.GroupVersionResource, namespace, selector string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	options := metav1.ListOptions{LabelSelector: selector, Limit: page}
	for range pages {
		list, err := t.client.Resource(resource).Namespace(namespace).List(ctx, options)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		all = append(all, list.Items...)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
	return nil, fmt.Errorf("list %s: the server has more than %d pages of %d, which is more than a snapshot holds", resource.GroupResource(), pages, page)
}
