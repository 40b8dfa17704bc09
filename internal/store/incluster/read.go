package incluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/store"
)

// Run says who runs a rollout.
type Run struct {
	Holder store.Holder
	// Alive is set while the lease is renewed.
	Alive bool
}

// Rollouts lists the rollouts that the cluster holds a state of, sorted.
func (c *Cluster) Rollouts(ctx context.Context) ([]Key, error) {
	var list *corev1.ConfigMapList
	err := one(ctx, func(ctx context.Context) (err error) {
		list, err = c.maps.List(ctx, metav1.ListOptions{LabelSelector: labelPart + "=" + partHead})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list rollouts on %s: %w", c.Server, err)
	}
	var keys []Key
	for i := range list.Items {
		if h, err := decodeHead(&list.Items[i]); err == nil {
			keys = append(keys, h.Key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Environment, b.Environment))
	})
	return keys, nil
}

// Read returns what is saved of a rollout, without its lock; found is false
// where that is nothing.
func (c *Cluster) Read(ctx context.Context, key Key) (saved store.Saved, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l, found, err := c.load(ctx, key)
	return l.saved, found, err
}

// Running says who runs a rollout now.
func (c *Cluster) Running(ctx context.Context, key Key) (Run, error) {
	var found *coordinationv1.Lease
	err := one(ctx, func(ctx context.Context) (err error) {
		found, err = c.leases.Get(ctx, key.base(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return Run{}, nil
	}
	if err != nil {
		return Run{}, fmt.Errorf("ask who runs the rollout %s: %w", key, err)
	}
	h := readHolder(found)
	if h.PID == 0 {
		return Run{}, nil
	}
	var ends time.Time
	if t := found.Spec.RenewTime; t != nil {
		ends = t.Add(lasts(found))
	}
	return Run{Holder: h.Holder, Alive: ends.After(c.now()) && !h.ended()}, nil
}
