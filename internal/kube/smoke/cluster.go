package smoke

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/kube"
)

// Cluster is a Client on an API server.
type Cluster struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	now    func() time.Time

	mu sync.Mutex
	// refreshed is when discovery was last asked again for a kind that was not
	// found; it is not asked more often than every refreshEvery.
	refreshed time.Time
}

const refreshEvery = 2 * time.Second

// NewCluster returns a Client on the API server behind the two clients.
func NewCluster(client dynamic.Interface, d discovery.DiscoveryInterface, now func() time.Time) *Cluster {
	return &Cluster{
		client: client, now: now,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d)),
	}
}

// Connect returns a Client on the API server of a configuration. It does not talk to
// it yet.
func Connect(config *rest.Config, now func() time.Time) (*Cluster, error) {
	client, d, err := kube.Connect(config)
	if err != nil {
		return nil, err
	}
	return NewCluster(client, d, now), nil
}

// Get implements Client.
func (c *Cluster) Get(ctx context.Context, gk schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
	resource, err := c.resource(gk, namespace)
	if err != nil {
		return nil, err
	}
	what := finding.Resource{Group: gk.Group, Kind: gk.Kind, Namespace: namespace, Name: name}.Human()
	obj, err := resource.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &NotFoundError{what}
	}
	if err != nil {
		return nil, asked("get "+what, err)
	}
	return obj, nil
}

// List implements Client.
func (c *Cluster) List(ctx context.Context, gk schema.GroupKind, namespace string) ([]*unstructured.Unstructured, error) {
	resource, err := c.resource(gk, namespace)
	if err != nil {
		return nil, err
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &NotFoundError{"kind " + gk.String()}
	}
	if err != nil {
		return nil, asked("list "+gk.String(), err)
	}
	out := make([]*unstructured.Unstructured, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

func (c *Cluster) resource(gk schema.GroupKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		c.refresh()
		mapping, err = c.mapper.RESTMapping(gk)
	}
	if meta.IsNoMatchError(err) {
		return nil, &NotFoundError{"kind " + gk.String()}
	}
	if err != nil {
		return nil, asked("discover "+gk.String(), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.client.Resource(mapping.Resource).Namespace(namespace), nil
	}
	return c.client.Resource(mapping.Resource), nil
}

// asked wraps the error of a request. What is no answer of the API server, and
// no end of the time for one, means that it cannot be reached.
func asked(what string, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &UnreachableError{What: what, Err: err}
}

// refresh makes the next lookup ask the server again, for kinds whose CRD was
// installed in the meantime.
func (c *Cluster) refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.refreshed) >= refreshEvery {
		c.refreshed = now
		c.mapper.Reset()
	}
}
