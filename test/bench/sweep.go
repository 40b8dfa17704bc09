package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// sweeper empties a plane between rollouts: it deletes whatever the plane did not
// hold when the sweeper was made. What a rollout changed in objects of the plane
// itself stays.
type sweeper struct {
	discovery discovery.DiscoveryInterface
	client    metadata.Interface
	kept      map[object]bool
}

// object is the key of one object of a plane.
type object struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// newSweeper remembers what a plane holds now. It waits until the controllers of
// the plane have made what they make at their start.
func newSweeper(ctx context.Context, access *rest.Config) (*sweeper, error) {
	access = rest.CopyConfig(access)
	access.QPS, access.Burst = -1, -1 // nothing is measured while it sweeps
	access.WarningHandler = rest.NoWarnings{}
	d, err := discovery.NewDiscoveryClientForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("connect to the plane: %w", err)
	}
	client, err := metadata.NewForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("connect to the plane: %w", err)
	}
	s := &sweeper{discovery: d, client: client, kept: map[object]bool{}}
	for same := 0; same < 3; same++ {
		found, err := s.list(ctx)
		if err != nil {
			return nil, err
		}
		if len(found) != len(s.kept) {
			same = 0
		}
		for o := range found {
			s.kept[o] = true
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sweep deletes what came since, and waits until it is gone.
func (s *sweeper) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Minute, errors.New("the plane does not become empty"))
	defer cancel()
	var last error
	for {
		found, err := s.list(ctx)
		if err != nil {
			return errors.Join(err, last)
		}
		var left []object
		for o := range found {
			if !s.kept[o] {
				left = append(left, o)
			}
		}
		if len(left) == 0 {
			return nil
		}
		// Webhooks would refuse, and namespaces wait for the rest.
		slices.SortFunc(left, func(a, b object) int { return rank(a) - rank(b) })
		last = nil
		for _, o := range left {
			if err := s.remove(ctx, o, found[o]); err != nil && !apierrors.IsNotFound(err) {
				last = fmt.Errorf("delete %s %s/%s: %w", o.resource.Resource, o.namespace, o.name, err)
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return errors.Join(err, last)
		}
	}
}

// rank is the place of an object in the order of deletion.
func rank(o object) int {
	switch o.resource.Resource {
	case "validatingwebhookconfigurations", "mutatingwebhookconfigurations":
		return 0
	case "apiservices":
		return 1
	case "customresourcedefinitions":
		return 3
	case "namespaces":
		return 4
	default:
		return 2
	}
}

// remove deletes an object. One that is being deleted loses its finalizers: those
// that would have cleared them have ended with the rollout.
func (s *sweeper) remove(ctx context.Context, o object, meta metav1.ObjectMeta) error {
	client := s.client.Resource(o.resource).Namespace(o.namespace)
	if meta.DeletionTimestamp == nil {
		now, background := int64(0), metav1.DeletePropagationBackground
		return client.Delete(ctx, o.name, metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background})
	}
	if len(meta.Finalizers) == 0 || o.resource.Resource == "customresourcedefinitions" {
		return nil
	}
	_, err := client.Patch(ctx, o.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return err
}

// list returns everything that the plane holds, but for what comes and goes with
// its own work.
func (s *sweeper) list(ctx context.Context) (map[object]metav1.ObjectMeta, error) {
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask the plane what it serves: %w", err)
	}
	found := map[object]metav1.ObjectMeta{}
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range l.APIResources {
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") || slices.Contains([]string{"events", "leases"}, r.Name) {
				continue
			}
			resource := gv.WithResource(r.Name)
			items, err := s.client.Resource(resource).List(ctx, metav1.ListOptions{})
			switch {
			case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
				continue // its definition has just gone
			case err != nil:
				return nil, fmt.Errorf("list %s: %w", r.Name, err)
			}
			for _, item := range items.Items {
				found[object{resource, item.Namespace, item.Name}] = item.ObjectMeta
			}
		}
	}
	return found, nil
}

// pause waits, for polling.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
