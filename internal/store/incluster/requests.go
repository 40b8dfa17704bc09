package incluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/kube/informer"
)

// Action is what people ask of a run.
type Action string

// The actions.
const (
	Pause   Action = "pause"
	Resume  Action = "resume"
	Abort   Action = "abort"
	Approve Action = "approve"
	Retry   Action = "retry"
)

// Request is something that somebody asks of a run.
type Request struct {
	Action Action `json:"action"`
	// Target is the phase of an approval, the component of a retry (empty for all
	// that failed).
	Target string `json:"target,omitempty"`
	By     string `json:"by"`
	// Reason is why, in the words of who asks.
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`

	id string
}

// Answer is what a run says to a request.
type Answer struct {
	// Refused is set when the request changed nothing; Message says why, or what
	// it did.
	Refused bool      `json:"refused,omitempty"`
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// NoAnswerError means that a run did not take a request.
type NoAnswerError struct {
	Key Key
	// Ended is set when the run ended before it did.
	Ended bool
}

// Error implements error.
func (e *NoAnswerError) Error() string {
	if e.Ended {
		return fmt.Sprintf("the run of the rollout %s ended before it took the request", e.Key)
	}
	return fmt.Sprintf("the run of the rollout %s did not take the request, which is withdrawn; it may have lost the API server, or be gone", e.Key)
}

const answerSuffix = ".answer"

func (k Key) requestsName() string { return k.base() + "-requests" }

// Ask puts a request to the run of a rollout and waits for its answer, for at
// most patience: then the request is withdrawn and the error a *NoAnswerError.
func (c *Cluster) Ask(ctx context.Context, key Key, r Request, patience time.Duration) (Answer, error) {
	r.At = c.now().UTC()
	id := fmt.Sprintf("%015d-%s", r.At.UnixMilli(), rand.String(6))
	text, err := json.Marshal(r)
	if err != nil {
		return Answer{}, fmt.Errorf("ask the run: %w", err)
	}
	if err := c.patchRequests(ctx, key, map[string]any{id: string(text)}); err != nil {
		return Answer{}, fmt.Errorf("ask the run of the rollout %s: %w", key, err)
	}
	defer func() {
		// Also when nobody waits any more: nothing is asked without somebody there.
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = c.patchRequests(clean, key, map[string]any{id: nil, id + answerSuffix: nil})
	}()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		var found *corev1.ConfigMap
		err := one(ctx, func(ctx context.Context) (err error) {
			found, err = c.maps.Get(ctx, key.requestsName(), metav1.GetOptions{})
			return err
		})
		switch {
		case apierrors.IsNotFound(err):
			return Answer{}, &NoAnswerError{Key: key, Ended: true}
		case err != nil && !transient(err):
			return Answer{}, fmt.Errorf("wait for the answer of the run: %w", err)
		case err == nil:
			if text, ok := found.Data[id+answerSuffix]; ok {
				var a Answer
				if err := json.Unmarshal([]byte(text), &a); err != nil {
					return Answer{}, fmt.Errorf("read the answer of the run: %w", err)
				}
				return a, nil
			}
			if _, ok := found.Data[id]; !ok {
				return Answer{}, &NoAnswerError{Key: key, Ended: true}
			}
		}
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case <-deadline.C:
			return Answer{}, &NoAnswerError{Key: key}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *Cluster) patchRequests(ctx context.Context, key Key, data map[string]any) error {
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	return one(ctx, func(ctx context.Context) error {
		_, err := c.maps.Patch(ctx, key.requestsName(), types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
}

// Serve takes the requests to this run, oldest first, until ctx ends: each is
// given to take, whose answer is written when it returns. What was asked of
// earlier runs is dropped first.
func (s *Store) Serve(ctx context.Context, take func(Request) Answer) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s.key.requestsName(), Labels: s.key.labels(partRequests)}}
	err := persist(ctx, func(ctx context.Context) error {
		_, err := s.cluster.maps.Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = s.cluster.maps.Update(ctx, object, metav1.UpdateOptions{})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("take requests: %w", err)
	}
	for ctx.Err() == nil {
		// A watch that breaks or falls silent is begun anew: it tells what is
		// there first, so that no request is missed in between.
		_ = s.serveOnce(ctx, take)
		select {
		case <-ctx.Done():
		case <-time.After(firstPause):
		}
	}
	return nil
}

func (s *Store) serveOnce(ctx context.Context, take func(Request) Answer) error {
	w, err := informer.Watch(ctx, clock.RealClock{}, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", s.key.requestsName()).String(),
	}, s.cluster.maps.Watch)
	if err != nil {
		return err
	}
	defer w.Stop()
	answered := map[string]bool{}
	for event := range w.ResultChan() {
		cm, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			return errors.New("the watch has ended")
		}
		for _, r := range pending(cm.Data) {
			if answered[r.id] || ctx.Err() != nil {
				continue
			}
			answered[r.id] = true
			if err := s.answer(ctx, r, take(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) answer(ctx context.Context, r Request, a Answer) error {
	a.At = s.cluster.now().UTC()
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	// The request that ends the run is answered all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	return persist(ctx, func(ctx context.Context) error {
		return s.cluster.patchRequests(ctx, s.key, map[string]any{r.id + answerSuffix: string(text)})
	})
}

// pending are the requests without an answer, oldest first.
func pending(data map[string]string) []Request {
	var out []Request
	for id, text := range data {
		if strings.HasSuffix(id, answerSuffix) || data[id+answerSuffix] != "" {
			continue
		}
		var r Request
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			continue // not written by Ladder
		}
		r.id = id
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Request) int { return cmp.Compare(a.id, b.id) })
	return out
}
