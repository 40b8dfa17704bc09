package incluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/kube/fence"
	"github.com/rollout-ladder/ladder/internal/store"
)

// pace is the least time between two appends: what changes meanwhile is written
// together, so that a rollout makes at most 20 of them in a second.
const pace = 50 * time.Millisecond

// lastPatience is how long a write is tried after the run has ended.
const lastPatience = 10 * time.Second

// Store keeps the state of one rollout; it holds the lease. It implements
// executor.Store and is not safe for concurrent use.
type Store struct {
	cluster *Cluster
	key     Key
	lease   *lease
	fence   *fence.Fence
	// ctx ends when the lease is lost, or some time after the run.
	ctx  context.Context
	stop context.CancelCauseFunc

	head    head
	version string // resource version of the head; empty where there is none
	// sequence and size belong to the journal, see loaded.
	sequence, size int
	wrote          time.Time
	pace           time.Duration
}

// Options say who opens a rollout.
type Options struct {
	// Owner names the run in the message that a second one gets.
	Owner string
	// Waiting, if set, is told of a holder that may be gone, and how long that takes
	// to tell.
	Waiting func(store.Holder, time.Duration)
	// Lost is told when the lease is lost: the run must end then.
	Lost func(error)
}

// Open takes the lease of a rollout; it returns a *store.LockedError when another
// run has it. When ctx ends, writes are tried for a few seconds more. Close gives the
// lease up.
func Open(ctx context.Context, c *Cluster, key Key, o Options) (*Store, error) {
	s := &Store{key: key, pace: pace, fence: fence.New(c.clock)}
	behind := *c
	var err error
	if behind.maps, err = c.behind(s.fence); err != nil {
		return nil, err
	}
	s.cluster = &behind
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.lease = newLease(s.cluster, key, newHolder(o.Owner, c.now()), s.fence, o.Waiting, func(err error) {
		s.stop(err)
		o.Lost(err)
	})
	if err := s.lease.acquire(ctx); err != nil {
		s.stop(nil)
		var locked *store.LockedError
		if errors.As(err, &locked) {
			return nil, err
		}
		return nil, fmt.Errorf("lock the rollout %s: %w", key, err)
	}
	context.AfterFunc(ctx, func() {
		select {
		case <-time.After(lastPatience):
			s.stop(errors.New("the run has ended"))
		case <-s.ctx.Done():
		}
	})
	return s, nil
}

// Close gives the lease up.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), lastPatience)
	defer cancel()
	s.lease.release(ctx)
	s.stop(nil)
	return nil
}

// Access is a copy of a configuration whose writes are held back while the lease may
// have ended, and fail when it is lost.
func (s *Store) Access(config *rest.Config) (*rest.Config, error) { return s.fence.Access(config) }

// Holder is this run, as others see it.
func (s *Store) Holder() store.Holder { return s.lease.self.Holder }

// Load implements executor.Store.
func (s *Store) Load() (store.Saved, error) {
	l, found, err := s.cluster.load(s.ctx, s.key)
	if err != nil || !found {
		return store.Saved{}, err
	}
	s.head, s.version, s.sequence, s.size = l.head, l.version, l.sequence, l.size
	return l.saved, nil
}

// Append implements executor.Store: it returns when the records are in etcd. An API
// server that is away is waited for.
func (s *Store) Append(records ...json.RawMessage) error {
	if len(records) == 0 {
		return nil
	}
	if s.head.Generation == "" {
		return errors.New("append to state: there is no snapshot to append to")
	}
	var lines bytes.Buffer
	for _, r := range records {
		if err := json.Compact(&lines, r); err != nil {
			return fmt.Errorf("append to state: record is not JSON: %w", err)
		}
		lines.WriteByte('\n')
	}
	packed, err := pack(lines.Bytes())
	if err != nil {
		return fmt.Errorf("append to state: %w", err)
	}
	if early := s.wrote.Add(s.pace).Sub(s.cluster.now()); early > 0 {
		select {
		case <-time.After(min(early, s.pace)):
		case <-s.ctx.Done():
		}
	}
	pieces := slices.Collect(slices.Chunk(packed, snapshotPart))
	for i, data := range pieces {
		if err := s.appendPiece(piece{append: s.sequence + 1, index: i, of: len(pieces)}, data); err != nil {
			return fmt.Errorf("append to state: %w", err)
		}
	}
	s.sequence++
	s.wrote = s.cluster.now()
	return nil
}

// appendPiece writes one piece into the last part of the journal, or into a new
// one.
func (s *Store) appendPiece(p piece, data []byte) error {
	if s.head.Journal == 0 || s.size+len(data) > journalPart {
		return s.appendPart(p, data)
	}
	body, err := json.Marshal(map[string]any{"binaryData": map[string][]byte{p.String(): data}})
	if err != nil {
		return err
	}
	name := s.key.partName(s.head.Generation, "j", s.head.Journal-1)
	err = persist(s.ctx, func(ctx context.Context) error {
		_, err := s.cluster.maps.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return s.fenced(err)
	}
	s.size += len(data)
	return nil
}

// appendPart begins a new part of the journal. It counts when the head says so.
func (s *Store) appendPart(p piece, data []byte) error {
	part := s.part(s.head.Generation, partJournal, "j", s.head.Journal)
	part.BinaryData = map[string][]byte{p.String(): data}
	if err := s.create(part); err != nil {
		return err
	}
	next := s.head
	next.Journal++
	if err := s.writeHead(next); err != nil {
		return err
	}
	s.size = len(data)
	return nil
}

// Snapshot implements executor.Store.
func (s *Store) Snapshot(state json.RawMessage) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, state); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	packed, err := pack(compact.Bytes())
	if err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	if s.version == "" {
		// What is there and was not loaded is replaced as well.
		cm, err := s.cluster.getHead(s.ctx, s.key)
		if err != nil {
			return err
		}
		if cm != nil {
			s.version = cm.ResourceVersion
			s.head, _ = decodeHead(cm) // one that cannot be read has no number
		}
	}
	parts := slices.Collect(slices.Chunk(packed, snapshotPart))
	next := head{
		FormatVersion: formatVersion, Key: s.key, Generation: fmt.Sprintf("%d-%s", s.head.number()+1, rand.String(6)),
		Snapshot: len(parts), Checksum: sum(packed),
	}
	for i, data := range parts {
		part := s.part(next.Generation, partSnapshot, "s", i)
		part.BinaryData = map[string][]byte{keyPart: data}
		if err := s.create(part); err != nil {
			return fmt.Errorf("save state: %w", err)
		}
	}
	if err := s.writeHead(next); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	s.sequence, s.size, s.wrote = 0, 0, s.cluster.now()
	// What is left behind now goes with the next snapshot.
	_ = one(s.ctx, func(ctx context.Context) error {
		return s.cluster.maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
			LabelSelector: fmt.Sprintf("%s=%s,%s in (%s, %s),%s!=%s", labelRollout, s.key.Name(),
				labelPart, partSnapshot, partJournal, labelGeneration, next.Generation),
		})
	})
	return nil
}

func (s *Store) part(generation, part, kind string, index int) *corev1.ConfigMap {
	labels := s.key.labels(part)
	labels[labelGeneration] = generation
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.key.partName(generation, kind, index), Labels: labels}}
}

// create makes an object with a name that only this run uses: one that is there
// already was made by a try whose answer was lost.
func (s *Store) create(object *corev1.ConfigMap) error {
	err := persist(s.ctx, func(ctx context.Context) error {
		_, err := s.cluster.maps.Create(ctx, object, metav1.CreateOptions{})
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// writeHead makes a generation, or one more part of its journal, count.
func (s *Store) writeHead(next head) error {
	next.At = s.cluster.now().UTC()
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: s.key.base(), Labels: s.key.labels(partHead), ResourceVersion: s.version},
		Data:       map[string]string{keyHead: string(text)},
	}
	var written *corev1.ConfigMap
	err = persist(s.ctx, func(ctx context.Context) (err error) {
		if s.version == "" {
			written, err = s.cluster.maps.Create(ctx, object, metav1.CreateOptions{})
		} else {
			written, err = s.cluster.maps.Update(ctx, object, metav1.UpdateOptions{})
		}
		return err
	})
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		// A try whose answer was lost may have gone through.
		found, getErr := s.cluster.getHead(s.ctx, s.key)
		if getErr != nil {
			return getErr
		}
		if found == nil || found.Data[keyHead] != string(text) {
			return s.fenced(err)
		}
		written, err = found, nil
	}
	if err != nil {
		return err
	}
	s.head, s.version = next, written.ResourceVersion
	return nil
}

// fenced words the errors that say that another run wrote the state meanwhile.
func (s *Store) fenced(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("%w (%w)", &LeaseLostError{Key: s.key}, err)
	}
	return err
}
