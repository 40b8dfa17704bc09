package engine

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/kube"
)

// Client sends requests to one API server: it finds how kinds are served, bounds
// the requests at once, and repeats what fails for a reason that goes away.
type Client struct {
	client dynamic.Interface
	mapper *mapper
	slots  chan struct{}
	clock  clock.Clock
	// established reports whether a kind is about to be served; nil where nobody knows.
	established func(context.Context, schema.GroupVersionKind) bool
}

// defaultConcurrency bounds the requests at once.
const defaultConcurrency = 32

// NewClient returns a client. It does not talk to the server yet.
func NewClient(config *rest.Config, c clock.Clock) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	client, d, err := kube.Connect(config)
	if err != nil {
		return nil, err
	}
	return newClient(client, d, c, defaultConcurrency), nil
}

func newClient(client dynamic.Interface, d discovery.DiscoveryInterface, c clock.Clock, concurrency int) *Client {
	return &Client{client: client, mapper: newMapper(d), slots: make(chan struct{}, concurrency), clock: c}
}

// Try repeats a request while its error is of the kind that goes away.
func (c *Client) Try(ctx context.Context, request func() error) error {
	began, wait := c.clock.Now(), firstPause
	for {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := request()
		<-c.slots
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		patience := time.Duration(0)
		switch {
		case err == nil:
			return nil
		case unanswered(err):
			patience = outagePatience
		case Transient(err):
			patience = refusalPatience
		}
		if c.clock.Since(began)+wait > patience {
			return wordOutage(err)
		}
		if Pause(ctx, c.clock, wait) != nil {
			return ctx.Err()
		}
		wait = min(2*wait, longestPause)
	}
}

// lookup finds how a kind is served; an error that goes away is waited out.
func (c *Client) lookup(ctx context.Context, gvk schema.GroupVersionKind) (mapping, error) {
	var m mapping
	err := c.Try(ctx, func() (err error) {
		m, err = c.mapper.lookup(gvk)
		return err
	})
	return m, err
}

// lateLookup is lookup for a kind whose CRD was applied a moment ago: the API
// server serves a kind shortly after its CRD is established. It is waited for as
// long as is said, and longer where the CRD is established already.
func (c *Client) lateLookup(ctx context.Context, gvk schema.GroupVersionKind, patience time.Duration) (mapping, error) {
	deadline := c.clock.Now().Add(patience)
	for first := true; ; first = false {
		m, err := c.lookup(ctx, gvk)
		if first && Unserved(err) && c.established != nil && c.established(ctx, gvk) {
			deadline = c.clock.Now().Add(discoveryPatience)
		}
		if !Unserved(err) || !c.clock.Now().Before(deadline) {
			return m, err
		}
		if err := Pause(ctx, c.clock, firstPause); err != nil {
			return mapping{}, err
		}
	}
}

// Unserved reports an error that means that a kind is not served.
func Unserved(err error) bool { return errors.As(err, new(*unservedError)) }

// Resource returns the client of a kind, in a namespace where the kind has any. A
// kind that is not served is waited for as long as the patience says; see Unserved.
func (c *Client) Resource(ctx context.Context, gvk schema.GroupVersionKind, namespace string, patience time.Duration) (dynamic.ResourceInterface, error) {
	m, err := c.lateLookup(ctx, gvk, patience)
	if err != nil {
		return nil, err
	}
	return c.resourceFor(m, namespace), nil
}

// resourceFor returns the client of an object's kind and namespace.
func (c *Client) resourceFor(m mapping, namespace string) dynamic.ResourceInterface {
	if m.namespaced {
		return c.client.Resource(m.gvr).Namespace(namespace)
	}
	return c.client.Resource(m.gvr)
}

// Get reads a live object; nil where it is not there.
func (c *Client) Get(ctx context.Context, client dynamic.ResourceInterface, name string) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := c.Try(ctx, func() (err error) {
		live, err = client.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// Apply sends an object server-side and takes over fields of other managers.
func (c *Client) Apply(ctx context.Context, client dynamic.ResourceInterface, obj *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	var out *unstructured.Unstructured
	err := c.Try(ctx, func() (err error) {
		out, err = client.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: manager, Force: true})
		return err
	})
	return out, err
}

// Delete deletes an object and returns when it is gone. With a UID only that very
// object is deleted. waits, which may be nil, is told of the object while it goes.
func (c *Client) Delete(ctx context.Context, client dynamic.ResourceInterface, name string, uid *types.UID, waits func(*unstructured.Unstructured)) error {
	policy := metav1.DeletePropagationForeground
	options := metav1.DeleteOptions{PropagationPolicy: &policy}
	if uid != nil {
		options.Preconditions = &metav1.Preconditions{UID: uid}
	}
	err := c.Try(ctx, func() error { return client.Delete(ctx, name, options) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil && (uid == nil || !apierrors.IsConflict(err)) {
		return err
	}
	return c.awaitGone(ctx, client, name, uid, waits)
}

// awaitGone returns when an object that is being deleted is gone.
func (c *Client) awaitGone(ctx context.Context, client dynamic.ResourceInterface, name string, uid *types.UID, waits func(*unstructured.Unstructured)) error {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		live, err := c.Get(ctx, client, name)
		if err != nil || live == nil || uid != nil && live.GetUID() != *uid {
			return err
		}
		if waits != nil {
			waits(live)
		}
		if err := Pause(ctx, c.clock, wait); err != nil {
			return err
		}
	}
}

// Pause waits, unless the context ends first.
func Pause(ctx context.Context, c clock.Clock, d time.Duration) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
