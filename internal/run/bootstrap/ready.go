package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// assess says how healthy a live object is.
type assess func(context.Context, *unstructured.Unstructured) health.Status

// WaitError says what was not as it should be when a stage gave up. It is late
// where the time was over.
type WaitError struct {
	Waiting []report.BootstrapWait
	Late    bool
	// For is what was waited for.
	For string
}

// Error implements error.
func (e *WaitError) Error() string {
	names := make([]string, 0, len(e.Waiting))
	for _, w := range e.Waiting {
		names = append(names, w.What)
	}
	const few = 3
	more := ""
	if len(names) > few {
		more = fmt.Sprintf(" and %d more", len(names)-few)
		names = names[:few]
	}
	verb := "is"
	if len(e.Waiting) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s%s %s not %s", strings.Join(names, ", "), more, verb, cmp.Or(e.For, "ready"))
}

const pollEvery = 500 * time.Millisecond

// ready waits until every object is Healthy. A Job that has failed ends the wait
// at once, since it stays so; the end of ctx is told as what was waited for.
func (r *run) ready(ctx context.Context, s *report.BootstrapStage, objects []manifest.Object, check assess) error {
	pending := objects
	told := -1
	for {
		var waiting []report.BootstrapWait
		var left []manifest.Object
		failed := false
		for _, o := range pending {
			live, status, err := r.look(ctx, o, check)
			if err != nil {
				if ctx.Err() != nil {
					return r.late(ctx, s, pending)
				}
				return objectError(o, err)
			}
			if status.Health == rollout.Healthy || status.Health == rollout.Suspended {
				continue
			}
			left = append(left, o)
			waiting = append(waiting, report.BootstrapWait{What: o.Resource().Human(), Reason: r.why(ctx, live, status), Declared: declared(o.Origin.Position())})
			failed = failed || (o.GetKind() == "Job" && live != nil && failedJob(live))
		}
		if len(left) == 0 {
			s.Waiting = []report.BootstrapWait{}
			return nil
		}
		s.Waiting = waiting
		if failed {
			return &WaitError{Waiting: waiting}
		}
		if len(left) != told {
			told = len(left)
			r.note("%s: %d of %d objects ready; %s: %s", s.Name, len(objects)-len(left), len(objects), waiting[0].What, waiting[0].Reason)
		}
		pending = left
		if engine.Pause(ctx, r.options.Clock, pollEvery) != nil {
			return r.late(ctx, s, pending)
		}
	}
}

// late is the error of a wait that ctx ended: its own where it was interrupted,
// else what was waited for.
func (r *run) late(ctx context.Context, s *report.BootstrapStage, pending []manifest.Object) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	if len(s.Waiting) == 0 {
		for _, o := range pending {
			s.Waiting = append(s.Waiting, report.BootstrapWait{What: o.Resource().Human(), Reason: "was not seen ready", Declared: declared(o.Origin.Position())})
		}
	}
	return &WaitError{Waiting: s.Waiting, Late: true}
}

func declared(at finding.Position) string {
	if at.File == "" {
		return ""
	}
	return at.String()
}

// look reads an object and judges it.
func (r *run) look(ctx context.Context, o manifest.Object, check assess) (*unstructured.Unstructured, health.Status, error) {
	live, err := r.get(ctx, o.GroupVersionKind(), cmp.Or(o.GetNamespace(), o.Target), o.GetName())
	if err != nil {
		return nil, health.Status{}, err
	}
	if live == nil {
		return nil, health.Status{Health: rollout.Missing, Message: "does not exist any more"}, nil
	}
	if health.Ignored(live) {
		return live, health.Status{Health: rollout.Healthy}, nil
	}
	status := check(ctx, live)
	if ctx.Err() != nil {
		return nil, health.Status{}, ctx.Err()
	}
	return live, status, nil
}

// why words what an object is waiting for, by the first of its pods that says so.
func (r *run) why(ctx context.Context, live *unstructured.Unstructured, s health.Status) string {
	message := cmp.Or(s.Message, "is "+string(s.Health))
	if live == nil {
		return message
	}
	selector, found, _ := unstructured.NestedMap(live.Object, "spec", "selector")
	if !found || live.GetNamespace() == "" {
		return message
	}
	matchLabels, _, _ := unstructured.NestedStringMap(selector, "matchLabels")
	if len(matchLabels) == 0 {
		return message
	}
	client, err := r.target.Resource(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, live.GetNamespace(), 0)
	if err != nil {
		return message
	}
	pods, err := client.List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: matchLabels})})
	if err != nil {
		return message
	}
	for i := range pods.Items {
		if reason := health.PodReason(&pods.Items[i]); reason != "" {
			return fmt.Sprintf("%s; pod %s: %s", message, pods.Items[i].GetName(), reason)
		}
	}
	return message
}
