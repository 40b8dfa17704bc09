package incluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rollout-ladder/ladder/internal/store"
)

// The times of a lease. Source: the defaults of client-go's leaderelection
// (15 s, renewed well before).
const (
	leaseDuration = 15 * time.Second
	leaseRenewal  = 4 * time.Second
	// leaseMargin is how long before its end a lease is no longer relied on: a
	// write that was begun must end before somebody else may begin.
	leaseMargin = 2 * time.Second
)

// annotationHolder tells more of the holder than its identity.
const annotationHolder = "ladder.rollout-ladder.dev/holder"

// LeaseLostError means that another run took the rollout over, or that somebody
// deleted the lease: this run must not go on.
type LeaseLostError struct {
	Key Key
	// Holder is who has it now; zero for nobody.
	Holder store.Holder
}

// Error implements error.
func (e *LeaseLostError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("the lease of the rollout %s was taken from this run, which starts nothing more", e.Key)
	}
	return fmt.Sprintf("the rollout %s was taken over by %s; this run starts nothing more", e.Key, e.Holder)
}

// lease is the lock of a rollout: held while it is renewed.
type lease struct {
	cluster *Cluster
	key     Key
	self    holder
	lost    func(error) // told once when the lease is gone

	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	// object is the lease as the API server has it, held until when it may be
	// relied on.
	object *coordinationv1.Lease
	until  time.Time
	err    error // set when it is lost
	// renewed is closed, and replaced, when until or err changed.
	renewed chan struct{}
}

// acquire takes the lease, or returns a *store.LockedError. The lease of a
// process of this machine that has ended is free at once, that of another one
// when it has not been renewed for its duration.
func acquire(ctx context.Context, c *Cluster, key Key, self holder, lost func(error)) (*lease, error) {
	l := &lease{cluster: c, key: key, self: self, lost: lost, renewed: make(chan struct{}), done: make(chan struct{})}
	for {
		asked := c.now()
		taken, err := l.take(ctx, asked)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue // somebody was faster, or a try whose answer was lost went through
		}
		if err != nil {
			return nil, err
		}
		l.object, l.until = taken, asked.Add(leaseDuration-leaseMargin)
		break
	}
	var work context.Context
	work, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	go l.renew(work)
	return l, nil
}

// take makes one attempt.
func (l *lease) take(ctx context.Context, now time.Time) (*coordinationv1.Lease, error) {
	c := l.cluster
	var found *coordinationv1.Lease
	err := one(ctx, func(ctx context.Context) (err error) {
		found, err = c.leases.Get(ctx, l.key.base(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		fresh := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.key.base(), Labels: l.key.labels(partHead)}}
		l.fill(fresh, now)
		return l.create(ctx, fresh)
	}
	if err != nil {
		return nil, err
	}
	if err := l.free(ctx, found, now); err != nil {
		return nil, err
	}
	next := found.DeepCopy()
	next.Spec.LeaseTransitions = ptr.To(ptr.Deref(next.Spec.LeaseTransitions, 0) + 1)
	l.fill(next, now)
	return l.update(ctx, next)
}

// create makes the lease, and the namespace that it is in if that is not there.
func (l *lease) create(ctx context.Context, fresh *coordinationv1.Lease) (out *coordinationv1.Lease, err error) {
	for range 2 {
		err = one(ctx, func(ctx context.Context) (err error) {
			out, err = l.cluster.leases.Create(ctx, fresh, metav1.CreateOptions{})
			return err
		})
		if !apierrors.IsNotFound(err) {
			return out, err
		}
		if err := one(ctx, l.cluster.makeNamespace); err != nil {
			return nil, fmt.Errorf("make the namespace %s: %w", Namespace, err)
		}
	}
	return out, err
}

func (l *lease) update(ctx context.Context, next *coordinationv1.Lease) (out *coordinationv1.Lease, err error) {
	err = one(ctx, func(ctx context.Context) (err error) {
		out, err = l.cluster.leases.Update(ctx, next, metav1.UpdateOptions{})
		return err
	})
	return out, err
}

// fill writes the holder into a lease.
func (l *lease) fill(object *coordinationv1.Lease, now time.Time) {
	// A holder is plain data: it marshals.
	text, _ := json.Marshal(l.self)
	if object.Annotations == nil {
		object.Annotations = map[string]string{}
	}
	object.Annotations[annotationHolder] = string(text)
	object.Spec.HolderIdentity = ptr.To(l.self.identity())
	object.Spec.LeaseDurationSeconds = ptr.To(int32(leaseDuration / time.Second))
	object.Spec.AcquireTime = ptr.To(metav1.NewMicroTime(now))
	object.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
}

// free returns a *store.LockedError while somebody else holds a lease.
func (l *lease) free(ctx context.Context, found *coordinationv1.Lease, now time.Time) error {
	holder, ends := readHolder(found)
	switch {
	case holder.identity() == l.self.identity(), holder.PID == 0, holder.ended():
		return nil
	case ends.After(now):
		return l.locked(holder, ends)
	}
	// It ended by our clock, which may go wrong: whoever renews is alive.
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(leaseRenewal + time.Second):
	}
	var again *coordinationv1.Lease
	err := one(ctx, func(ctx context.Context) (err error) {
		again, err = l.cluster.leases.Get(ctx, l.key.base(), metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if again.ResourceVersion != found.ResourceVersion {
		return l.locked(readHolder(again))
	}
	return nil
}

func (l *lease) locked(h holder, ends time.Time) error {
	return &store.LockedError{
		Path:   fmt.Sprintf("the rollout %s on %s", l.key, l.cluster.Server),
		Holder: h.Holder, FreeAt: ends,
	}
}

// readHolder returns who holds a lease and when it ends.
func readHolder(object *coordinationv1.Lease) (h holder, ends time.Time) {
	if ptr.Deref(object.Spec.HolderIdentity, "") == "" {
		return holder{}, time.Time{}
	}
	if err := json.Unmarshal([]byte(object.Annotations[annotationHolder]), &h); err != nil || h.identity() != *object.Spec.HolderIdentity {
		// Not written by Ladder; it is respected all the same.
		h = holder{Holder: store.Holder{PID: -1, Host: *object.Spec.HolderIdentity}}
	}
	if t := object.Spec.RenewTime; t != nil {
		ends = t.Add(time.Duration(ptr.Deref(object.Spec.LeaseDurationSeconds, 0)) * time.Second)
	}
	return h, ends
}

// renew renews until it is stopped or lost.
func (l *lease) renew(ctx context.Context) {
	defer close(l.done)
	wait := leaseRenewal
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = time.Second // until it is renewed
		asked := l.cluster.now()
		next := l.object.DeepCopy() // only this goroutine writes it
		next.Spec.RenewTime = ptr.To(metav1.NewMicroTime(asked))
		renewed, err := l.update(ctx, next)
		switch {
		case err == nil:
			l.note(renewed, asked.Add(leaseDuration-leaseMargin), nil)
			wait = leaseRenewal
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			if gone := l.look(ctx); gone != nil {
				l.note(l.object, time.Time{}, gone)
				l.lost(gone)
				return
			}
		}
	}
}

// look reads the lease after a conflict: an answer that was lost may have
// renewed it. It returns an error when it is lost.
func (l *lease) look(ctx context.Context) error {
	var found *coordinationv1.Lease
	err := one(ctx, func(ctx context.Context) (err error) {
		found, err = l.cluster.leases.Get(ctx, l.key.base(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return &LeaseLostError{Key: l.key}
	}
	if err != nil {
		return nil //nolint:nilerr // not known to be lost; it is asked again
	}
	h, _ := readHolder(found)
	if h.identity() != l.self.identity() {
		return &LeaseLostError{Key: l.key, Holder: h.Holder}
	}
	l.mu.Lock()
	l.object = found
	l.mu.Unlock()
	return nil
}

func (l *lease) note(object *coordinationv1.Lease, until time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.object, l.until, l.err = object, until, err
	close(l.renewed)
	l.renewed = make(chan struct{})
}

// ensure returns when the lease may be relied on for a write, and an error when
// it is lost or ctx ends.
func (l *lease) ensure(ctx context.Context) error {
	for {
		l.mu.Lock()
		until, err, renewed := l.until, l.err, l.renewed
		l.mu.Unlock()
		switch {
		case err != nil:
			return err
		case l.cluster.now().Before(until):
			return nil
		}
		select {
		case <-renewed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// release gives the lease up; ctx bounds it. A lease that could not be given up
// ends by itself.
func (l *lease) release(ctx context.Context) {
	l.stop()
	<-l.done
	if l.err != nil {
		return
	}
	next := l.object.DeepCopy()
	next.Spec.HolderIdentity = ptr.To("")
	delete(next.Annotations, annotationHolder)
	_, _ = l.update(ctx, next)
}
