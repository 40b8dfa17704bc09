package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	// pageSize is how many objects one request lists.
	pageSize = 500
	// atOnce bounds the requests in flight.
	atOnce = 8
	// patience bounds one request.
	patience = 60 * time.Second
)

// Cluster reads the objects of a cluster.
type Cluster struct {
	// Name is for people, Server its address.
	Name, Server string

	discovery discovery.DiscoveryInterface
	metadata  metadata.Interface
	dynamic   dynamic.Interface
}

// NewCluster returns the cluster of a configuration. It does not talk to it.
func NewCluster(name string, config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// What is in flight bounds the requests.
	config.QPS, config.Timeout = -1, patience
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	m, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	return &Cluster{Name: name, Server: config.Host, discovery: d, metadata: m, dynamic: all}, nil
}

// kind is one served kind.
type kind struct {
	schema.GroupVersionKind

	resource   schema.GroupVersionResource
	namespaced bool
}

// live is one object of the cluster.
type live struct {
	metav1.PartialObjectMetadata

	kind     kind
	resource finding.Resource
}

// survey is what the cluster holds.
type survey struct {
	mu         sync.Mutex
	objects    []live
	unreadable []Unreadable
}

// passing are kinds of which nobody keeps an object: the cluster makes them as it
// runs, and drops them.
func passing(gk schema.GroupKind) bool {
	switch gk.Group {
	case "events.k8s.io", "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io", "packages.operators.coreos.com",
		"discovery.k8s.io", "coordination.k8s.io", "subresources.kubevirt.io", "authentication.k8s.io", "authorization.k8s.io":
		return true
	case "":
		return slices.Contains([]string{"Event", "Endpoints", "ComponentStatus", "Node", "Binding"}, gk.Kind)
	case "storage.k8s.io":
		return slices.Contains([]string{"CSINode", "CSIStorageCapacity", "VolumeAttachment"}, gk.Kind)
	case "networking.k8s.io":
		return slices.Contains([]string{"IPAddress", "ServiceCIDR"}, gk.Kind)
	case "resource.k8s.io":
		return gk.Kind == "ResourceSlice"
	}
	return false
}

// kinds are those that the cluster serves, in the versions it prefers, and the
// groups that it could not be asked about.
func (c *Cluster) kinds(ctx context.Context) ([]kind, []Unreadable, error) {
	var unreadable []Unreadable
	lists, err := c.discovery.ServerPreferredResources()
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &failed):
		for gv, problem := range failed.Groups {
			unreadable = append(unreadable, Unreadable{Kind: gv.String() + " (all kinds)", Reason: reason(problem)})
		}
	case err != nil:
		return nil, nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	virtual := c.virtual(ctx)
	var out []kind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || virtual[gv.Group] {
			continue
		}
		for _, r := range list.APIResources {
			gvk := gv.WithKind(r.Kind)
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || passing(gvk.GroupKind()) {
				continue
			}
			out = append(out, kind{GroupVersionKind: gvk, resource: gv.WithResource(r.Name), namespaced: r.Namespaced})
		}
	}
	slices.SortFunc(out, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
	return out, unreadable, nil
}

// virtual are the groups that another server answers for: views of other objects,
// mostly.
func (c *Cluster) virtual(ctx context.Context) map[string]bool {
	out := map[string]bool{}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	list, err := c.dynamic.Resource(services).List(ctx, metav1.ListOptions{})
	if err != nil {
		return out // the well-known ones are left out in any case
	}
	for _, item := range list.Items {
		spec, _ := item.Object["spec"].(map[string]any)
		if service, _ := spec["service"].(map[string]any); service != nil {
			group, _ := spec["group"].(string)
			out[group] = true
		}
	}
	return out
}

// read lists the objects of kinds: the namespaced ones in some namespaces, of the
// others those that wanted chooses.
func (c *Cluster) read(ctx context.Context, kinds []kind, namespaces []string, wanted func(schema.GroupKind) bool) (*survey, error) {
	s := &survey{}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, k := range kinds {
		if !k.namespaced && !wanted(k.GroupKind()) || k.namespaced && len(namespaces) == 0 {
			continue
		}
		group.Go(func() error {
			c.readKind(ctx, s, k, namespaces)
			return nil
		})
	}
	_ = group.Wait() // what failed is in the survey
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(s.objects, func(a, b live) int {
		return cmp.Or(strings.Compare(a.resource.Namespace, b.resource.Namespace), strings.Compare(a.resource.String(), b.resource.String()))
	})
	// A kind may be served by two groups: it is the same object.
	seen := map[string]bool{}
	s.objects = slices.DeleteFunc(s.objects, func(o live) bool {
		uid := string(o.UID)
		twice := uid != "" && seen[uid]
		seen[uid] = true
		return twice
	})
	sortUnreadable(s.unreadable)
	return s, nil
}

func sortUnreadable(all []Unreadable) {
	slices.SortFunc(all, func(a, b Unreadable) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace))
	})
}

// readKind lists one kind: in the whole cluster, or, where that is not allowed, in
// each namespace.
func (c *Cluster) readKind(ctx context.Context, s *survey, k kind, namespaces []string) {
	objects, err := c.list(ctx, k, "")
	if err == nil {
		s.add(slices.DeleteFunc(objects, func(o live) bool {
			_, in := slices.BinarySearch(namespaces, o.Namespace)
			return k.namespaced && !in
		}))
		return
	}
	if gone(err) {
		return
	}
	if !k.namespaced || !apierrors.IsForbidden(err) {
		s.fail(Unreadable{Kind: name(k), Reason: reason(err)})
		return
	}
	for _, namespace := range namespaces {
		objects, err := c.list(ctx, k, namespace)
		switch {
		case err == nil:
			s.add(objects)
		case !gone(err):
			s.fail(Unreadable{Kind: name(k), Namespace: namespace, Reason: reason(err)})
		}
	}
}

func (s *survey) add(objects []live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects = append(s.objects, objects...)
}

func (s *survey) fail(u Unreadable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreadable = append(s.unreadable, u)
}

// list lists a kind page by page; from the beginning again where the pages became
// too old.
func (c *Cluster) list(ctx context.Context, k kind, namespace string) ([]live, error) {
	var out []live
	options := metav1.ListOptions{Limit: pageSize}
	client := c.metadata.Resource(k.resource)
	for again := 0; ; {
		page, err := client.Namespace(namespace).List(ctx, options)
		if (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && again < 3 {
			again, out, options.Continue = again+1, nil, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			out = append(out, live{item, k, finding.Resource{Group: k.Group, Kind: k.Kind, Namespace: item.Namespace, Name: item.Name}})
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return out, nil
		}
	}
}

// gone reports whether a kind is not served any more, or cannot be listed: then it
// has no objects of its own.
func gone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) }

// name is a kind with its group.
func name(k kind) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// reason shortens an error of the API server.
func reason(err error) string {
	if apierrors.IsForbidden(err) {
		return "not allowed"
	}
	text := finding.Redact(strings.Join(strings.Fields(err.Error()), " "))
	if r := []rune(text); len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return text
}
