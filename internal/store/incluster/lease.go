package incluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rollout-ladder/ladder/internal/kube/fence"
	"github.com/rollout-ladder/ladder/internal/store"
)

// The times of a lease. Source: the defaults of client-go's leaderelection
// (15 s, renewed well before).
const (
	leaseDuration = 15 * time.Second
	leaseRenewal  = 4 * time.Second
	// leaseMargin is how much earlier its holder takes a lease for ended than others do:
	// no two clocks run at the same speed, and a write is on its way for a while.
	leaseMargin = 2 * time.Second
	// leaseTimeout bounds a request about the lease, so that one that hangs is repeated
	// in time.
	leaseTimeout = 8 * time.Second
	// leasePoll is the wait between two looks at a lease that somebody else has.
	leasePoll = 500 * time.Millisecond
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

// lease is the lock of a rollout: held while it is renewed. Its own requests pass no
// fence. Each carries the version that was read last, so that none has an effect after
// somebody else has written.
type lease struct {
	cluster *Cluster
	key     Key
	self    holder
	fence   *fence.Fence
	waiting func(store.Holder, time.Duration)
	lost    func(error) // told once when the lease is gone

	stop context.CancelFunc
	done chan struct{}
	// object is the lease as the API server has it, gone is set when it is lost. Both
	// belong to the goroutine that renews until done is closed.
	object *coordinationv1.Lease
	gone   bool
}

func newLease(c *Cluster, key Key, self holder, f *fence.Fence, waiting func(store.Holder, time.Duration), lost func(error)) *lease {
	return &lease{cluster: c, key: key, self: self, fence: f, waiting: waiting, lost: lost, done: make(chan struct{})}
}

// acquire takes the lease, or returns a *store.LockedError. The lease of a process of
// this machine that has ended is free at once. Any other is free when it was seen
// unchanged for as long as it lasts, and as a write may take that its holder has begun
// before: by the clock of this machine alone.
func (l *lease) acquire(ctx context.Context) error {
	var seen sighting
	for {
		asked := l.cluster.clock()
		taken, err := l.take(ctx, &seen)
		switch {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
			continue // somebody was faster, or a try whose answer was lost went through
		case err != nil && (seen.version == "" || !transient(err)):
			return err
		case taken == nil:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(leasePoll):
			}
			continue
		}
		l.object = taken
		l.fence.Extend(asked + leaseDuration - leaseMargin)
		break
	}
	var work context.Context
	work, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	go l.renew(work)
	return nil
}

// sighting is a lease of somebody else, as it was seen first.
type sighting struct {
	version string // empty for none
	at      time.Duration
}

// take makes one attempt; it returns nil while it is not known whether the holder is
// alive.
func (l *lease) take(ctx context.Context, seen *sighting) (*coordinationv1.Lease, error) {
	c := l.cluster
	var found *coordinationv1.Lease
	err := within(ctx, leaseTimeout, func(ctx context.Context) (err error) {
		found, err = c.leases.Get(ctx, l.key.base(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		fresh := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.key.base(), Labels: l.key.labels(partHead)}}
		l.fill(fresh)
		return l.create(ctx, fresh)
	}
	if err != nil {
		return nil, err
	}
	if free, err := l.free(found, seen); err != nil || !free {
		return nil, err
	}
	next := found.DeepCopy()
	next.Spec.LeaseTransitions = ptr.To(ptr.Deref(next.Spec.LeaseTransitions, 0) + 1)
	l.fill(next)
	return l.update(ctx, next)
}

// free tells whether a lease may be taken; the error is a *store.LockedError when
// somebody else renews it.
func (l *lease) free(found *coordinationv1.Lease, seen *sighting) (bool, error) {
	holder := readHolder(found)
	if holder.PID == 0 || holder.identity() == l.self.identity() || holder.ended() {
		return true, nil
	}
	wait := lasts(found) + fence.RequestTimeout
	now := l.cluster.clock()
	switch seen.version {
	case "":
		*seen = sighting{version: found.ResourceVersion, at: now}
		if l.waiting != nil {
			l.waiting(holder.Holder, wait)
		}
	case found.ResourceVersion:
		return now-seen.at >= wait, nil
	default:
		return false, &store.LockedError{
			Path:   fmt.Sprintf("the rollout %s on %s", l.key, l.cluster.Server),
			Holder: holder.Holder, FreeAt: l.cluster.now().Add(wait),
		}
	}
	return false, nil
}

// create makes the lease, and the namespace that it is in if that is not there.
func (l *lease) create(ctx context.Context, fresh *coordinationv1.Lease) (out *coordinationv1.Lease, err error) {
	for range 2 {
		err = within(ctx, leaseTimeout, func(ctx context.Context) (err error) {
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
	err = within(ctx, leaseTimeout, func(ctx context.Context) (err error) {
		out, err = l.cluster.leases.Update(ctx, next, metav1.UpdateOptions{})
		return err
	})
	return out, err
}

// fill writes the holder into a lease.
func (l *lease) fill(object *coordinationv1.Lease) {
	now := l.cluster.now()
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

// readHolder returns who holds a lease.
func readHolder(object *coordinationv1.Lease) (h holder) {
	if ptr.Deref(object.Spec.HolderIdentity, "") == "" {
		return holder{}
	}
	if err := json.Unmarshal([]byte(object.Annotations[annotationHolder]), &h); err != nil || h.identity() != *object.Spec.HolderIdentity {
		// Not written by Ladder; it is respected all the same.
		h = holder{Holder: store.Holder{PID: -1, Host: *object.Spec.HolderIdentity}}
	}
	return h
}

// lasts is how long a lease lasts after it was renewed.
func lasts(object *coordinationv1.Lease) time.Duration {
	return time.Duration(ptr.Deref(object.Spec.LeaseDurationSeconds, 0)) * time.Second
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
		asked := l.cluster.clock()
		next := l.object.DeepCopy()
		next.Spec.RenewTime = ptr.To(metav1.NewMicroTime(l.cluster.now()))
		renewed, err := l.update(ctx, next)
		switch {
		case err == nil:
			l.object = renewed
			l.fence.Extend(asked + leaseDuration - leaseMargin)
			wait = leaseRenewal
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			if gone := l.look(ctx); gone != nil {
				l.gone = true
				l.fence.End(gone)
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
	err := within(ctx, leaseTimeout, func(ctx context.Context) (err error) {
		found, err = l.cluster.leases.Get(ctx, l.key.base(), metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return &LeaseLostError{Key: l.key}
	}
	if err != nil {
		return nil //nolint:nilerr // not known to be lost; it is asked again
	}
	if h := readHolder(found); h.identity() != l.self.identity() {
		return &LeaseLostError{Key: l.key, Holder: h.Holder}
	}
	l.object = found
	return nil
}

// errReleased says why nothing is written any more.
var errReleased = errors.New("the lease of the rollout was given up")

// release gives the lease up; ctx bounds it. A lease that could not be given up, or
// under which a write is under way, ends by itself.
func (l *lease) release(ctx context.Context) {
	l.stop()
	<-l.done
	if idle := l.fence.End(errReleased); l.gone || !idle {
		return
	}
	next := l.object.DeepCopy()
	next.Spec.HolderIdentity = ptr.To("")
	delete(next.Annotations, annotationHolder)
	_, _ = l.update(ctx, next)
}
