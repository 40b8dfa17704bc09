package orphans

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Stages of a removal: each is gone before the next begins. Custom resources go
// while their operators live, which take away their finalizers.
const (
	stageCustom = iota
	stageOther
	stageData
	stageCRD
	stageNamespace
)

func stage(o Orphan) int {
	switch {
	case o.Resource.Kind == "Namespace" && o.Resource.Group == "":
		return stageNamespace
	case o.Resource.Kind == "CustomResourceDefinition":
		return stageCRD
	case o.Data:
		return stageData
	case !builtin(o.Resource.Group):
		return stageCustom
	default:
		return stageOther
	}
}

// sortRemovals puts orphans in the reverse of the order in which they were
// applied: what belongs to later components first, and what is of no component
// that is known before all.
func sortRemovals(all []Orphan) {
	slices.SortStableFunc(all, func(a, b Orphan) int {
		unknown := func(o Orphan) int {
			if o.place < 0 {
				return 0
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(stage(a), stage(b)),
			cmp.Compare(unknown(a), unknown(b)), cmp.Compare(b.place, a.place),
			cmp.Compare(manifest.KindRank(b.Resource.Kind), manifest.KindRank(a.Resource.Kind)),
			strings.Compare(a.Resource.String(), b.Resource.String()),
		)
	})
}

// Removal says how orphans are deleted.
type Removal struct {
	// Timeout bounds the wait for the objects of a stage to be gone; 0 means two
	// minutes.
	Timeout time.Duration
	Clock   clock.Clock
	// Told is called for every object that is gone.
	Told func(finding.Resource)
}

// LeftError says which objects were being deleted when the time was up.
type LeftError struct{ Objects []finding.Resource }

// Error implements error.
func (e *LeftError) Error() string {
	names := make([]string, len(e.Objects))
	for i, r := range e.Objects {
		names[i] = r.Human()
	}
	return "still being deleted, and nothing after them was touched: " + strings.Join(names, ", ") + " (their finalizers wait for somebody)"
}

// Remove deletes orphans in the order of sortRemovals, each the very object that
// was found. It ends at the first stage that does not go, with a *LeftError, or
// with what could not be deleted.
func (c *Cluster) Remove(ctx context.Context, orphans []Orphan, how Removal) error {
	orphans = slices.Clone(orphans)
	sortRemovals(orphans)
	for len(orphans) > 0 {
		n := 1
		for n < len(orphans) && stage(orphans[n]) == stage(orphans[0]) {
			n++
		}
		if err := c.removeStage(ctx, orphans[:n], how); err != nil {
			return err
		}
		orphans = orphans[n:]
	}
	return nil
}

func (c *Cluster) removeStage(ctx context.Context, orphans []Orphan, how Removal) error {
	var problems []error
	var waiting []Orphan
	for _, o := range orphans {
		uid, background := types.UID(o.UID), metav1.DeletePropagationBackground
		err := c.metadata.Resource(o.kind.resource).Namespace(o.Resource.Namespace).Delete(ctx, o.Resource.Name, metav1.DeleteOptions{
			PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid},
		})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // gone, or another object by now
			how.tell(o)
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			problems = append(problems, fmt.Errorf("delete %s: %s", o.Resource.Human(), reason(err)))
		default:
			waiting = append(waiting, o)
		}
	}
	if err := c.await(ctx, waiting, how); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (r Removal) tell(o Orphan) {
	if r.Told != nil {
		r.Told(o.Resource)
	}
}

// await waits until objects are gone.
func (c *Cluster) await(ctx context.Context, waiting []Orphan, how Removal) error {
	timer := how.Clock
	if timer == nil {
		timer = clock.RealClock{}
	}
	deadline := timer.Now().Add(cmp.Or(how.Timeout, 2*time.Minute))
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		var left []Orphan
		for _, o := range waiting {
			found, err := c.metadata.Resource(o.kind.resource).Namespace(o.Resource.Namespace).Get(ctx, o.Resource.Name, metav1.GetOptions{})
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if apierrors.IsNotFound(err) || err == nil && string(found.UID) != o.UID {
				how.tell(o)
				continue
			}
			left = append(left, o) // an error is asked about again
		}
		if waiting = left; len(waiting) == 0 {
			return nil
		}
		if !timer.Now().Before(deadline) {
			out := &LeftError{}
			for _, o := range waiting {
				out.Objects = append(out.Objects, o.Resource)
			}
			return out
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.After(pause):
		}
	}
}
