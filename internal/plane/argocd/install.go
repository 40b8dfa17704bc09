package argocd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/rollout-ladder/ladder/internal/kube"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// FieldManager owns the fields that Install and Apply write.
const FieldManager = "ladder-argocd"

const (
	establishPatience = time.Minute
	establishPoll     = 50 * time.Millisecond
)

// Installer puts what Argo CD needs onto a plane.
type Installer struct {
	objects dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewInstaller connects to a plane.
func NewInstaller(access *rest.Config) (*Installer, error) {
	objects, kinds, err := kube.Connect(access)
	if err != nil {
		return nil, fmt.Errorf("control plane: %w", err)
	}
	return &Installer{objects: objects, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// Install applies the CRDs of the binary's Argo CD and waits until they are
// served, then makes the namespace with what Argo CD does not run without: its
// empty settings, the key of its sessions, and the project "default", which allows
// everything. Installing twice is fine; settings that are there stay.
func (i *Installer) Install(ctx context.Context, executable, namespace string) error {
	text, err := exec.CommandContext(ctx, executable, "crds").Output()
	if err != nil {
		return &MissingError{Named: executable, Err: said(err)}
	}
	definitions, err := parse(text)
	if err != nil {
		return fmt.Errorf("read the CRDs of Argo CD: %w", err)
	}
	for _, d := range definitions {
		withoutDescriptions(d.Object)
	}
	if err := i.Apply(ctx, definitions); err != nil {
		return fmt.Errorf("install the CRDs of Argo CD: %w", err)
	}
	if err := i.established(ctx, definitions); err != nil {
		return err
	}
	if err := i.Apply(ctx, settings(namespace)); err != nil {
		return fmt.Errorf("install the settings of Argo CD: %w", err)
	}
	return nil
}

// said is the error of a command with what it said.
func said(err error) error {
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(failed.Stderr) > 0 {
		return errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	return cause(err)
}

// parse reads a stream of YAML documents.
func parse(text []byte) ([]*unstructured.Unstructured, error) {
	documents, err := manifest.Parse(text)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, d := range documents {
		objects = append(objects, d.Object)
	}
	return objects, nil
}

// withoutDescriptions drops the documentation out of the schemas of a CRD, which
// is half of what the API server keeps in memory for it.
func withoutDescriptions(value any) {
	switch v := value.(type) {
	case map[string]any:
		// A property of that name is a map.
		if _, ok := v["description"].(string); ok {
			delete(v, "description")
		}
		for _, inner := range v {
			withoutDescriptions(inner)
		}
	case []any:
		for _, inner := range v {
			withoutDescriptions(inner)
		}
	}
}

// settings are the objects that Argo CD does not run without. Source: Argo CD,
// util/settings, and its installation manifests.
func settings(namespace string) []*unstructured.Unstructured {
	object := func(apiVersion, kind, name string, content map[string]any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: content}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetName(name)
		if kind != "Namespace" {
			o.SetNamespace(namespace)
			// Argo CD sees no others of its settings.
			o.SetLabels(map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "argocd"})
		}
		return o
	}
	all := map[string]any{"group": "*", "kind": "*"}
	return []*unstructured.Unstructured{
		object("v1", "Namespace", namespace, map[string]any{}),
		object("v1", "ConfigMap", "argocd-cm", map[string]any{}),
		object("v1", "ConfigMap", "argocd-cmd-params-cm", map[string]any{}),
		object("v1", "ConfigMap", "argocd-rbac-cm", map[string]any{}),
		object("v1", "Secret", "argocd-secret", map[string]any{"stringData": map[string]any{"server.secretkey": rand.Text()}}),
		object("argoproj.io/v1alpha1", "AppProject", "default", map[string]any{"spec": map[string]any{
			"sourceRepos":                []any{"*"},
			"destinations":               []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist":   []any{all},
			"namespaceResourceWhitelist": []any{all},
		}}),
	}
}

// Apply applies objects one after the other, server-side, and takes over fields
// that another manager owns.
func (i *Installer) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		client, err := i.client(o)
		if err == nil {
			err = retried(ctx, func() error {
				_, err := client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// client is that of the kind of an object, in its namespace.
func (i *Installer) client(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	mapping, err := i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		// A kind that was defined since.
		i.mapper.Reset()
		mapping, err = i.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return i.objects.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
	}
	return i.objects.Resource(mapping.Resource), nil
}

// retried repeats a request while the API server is too busy for it.
func retried(ctx context.Context, request func() error) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 8, Cap: 5 * time.Second}, func(context.Context) (bool, error) {
		last = request()
		busy := apierrors.IsTooManyRequests(last) || apierrors.IsServerTimeout(last) || apierrors.IsServiceUnavailable(last) || apierrors.IsInternalError(last)
		return !busy, nil
	})
	if last != nil {
		return last
	}
	return err
}

// established waits until the CRDs are served.
func (i *Installer) established(ctx context.Context, definitions []*unstructured.Unstructured) error {
	waiting := slices.Clone(definitions)
	err := wait.PollUntilContextTimeout(ctx, establishPoll, establishPatience, true, func(ctx context.Context) (bool, error) {
		for len(waiting) > 0 {
			client, err := i.client(waiting[0])
			if err != nil {
				return false, err
			}
			live, err := client.Get(ctx, waiting[0].GetName(), metav1.GetOptions{})
			if err != nil || !hasCondition(live, "Established") || !i.discovered(live) {
				return false, nil //nolint:nilerr // asked again
			}
			waiting = waiting[1:]
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w", waiting[0].GetName(), err)
	}
	return nil
}

// discovered reports whether the API server lists the kind of a CRD, which it does
// some time after it has established it.
func (i *Installer) discovered(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	if _, err := i.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}); err != nil {
		i.mapper.Reset()
		return false
	}
	return true
}

func hasCondition(o *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == name && m["status"] == "True"
	})
}
