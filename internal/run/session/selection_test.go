package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

func TestSelect(t *testing.T) {
	spec := rollout.Spec{
		Revision: "r", Policy: rollout.Phases,
		Steps: []rollout.StepSpec{{Label: "100", Limit: -1}, {Label: "200", Limit: 2}, {Label: "300"}},
		Components: []rollout.ComponentSpec{
			{Name: "base"}, {Name: "crds", Requires: []string{"base"}},
			{Name: "db", Step: 1, Requires: []string{"crds"}, Retry: rollout.RetrySpec{Limit: 5}}, {Name: "api", Step: 2, Requires: []string{"db"}},
		},
		Remove: []rollout.RemovalSpec{{Name: "old"}},
	}
	got, outside := Select(spec, map[string]bool{"db": true})
	want := rollout.Spec{
		Revision: "r", Policy: rollout.Phases,
		Steps:      []rollout.StepSpec{{Label: "100"}, {Label: "200", Limit: 2}, {Label: "300"}},
		Components: []rollout.ComponentSpec{{Name: "crds"}, {Name: "db", Step: 1, Requires: []string{"crds"}, Retry: rollout.RetrySpec{Limit: 5}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"crds": true}, outside); diff != "" {
		t.Errorf("outside: %s", diff)
	}
	if spec.Steps[0].Limit != -1 || len(spec.Components[1].Requires) != 1 {
		t.Error("the spec that was given has changed")
	}
}

// watching is an engine that sees what it is told, and applies nothing.
type watching struct {
	executor.Engine
	seen []executor.Observation
}

func (w watching) Watch(_ context.Context, sink func(executor.Observation)) error {
	for _, o := range w.seen {
		sink(o)
	}
	return nil
}

func (watching) Sync(context.Context, string) error { return errors.New("was applied") }

func TestWhatIsOutsideIsNotApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		seen []executor.Observation
		want string
	}{
		"healthy at another revision": {seen: []executor.Observation{{Component: "db", Health: rollout.Healthy, Revision: "old"}}},
		"heals":                       {seen: []executor.Observation{{Component: "db", Health: rollout.Degraded}, {Component: "db", Health: rollout.Healthy}}},
		"ill": {
			seen: []executor.Observation{{Component: "db", Health: rollout.Degraded, Message: "0 of 1 ready"}},
			want: "is not selected, and must be Healthy for what is; it is Degraded: 0 of 1 ready",
		},
		"unseen": {want: "has not been observed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSelection(watching{seen: tc.seen}, map[string]bool{"db": true}, "new", clock.RealClock{})
				var last executor.Observation
				if err := s.Watch(t.Context(), func(o executor.Observation) { last = o }); err != nil {
					t.Fatal(err)
				}
				err := s.Sync(t.Context(), "db")
				if tc.want == "" {
					if err != nil || last.Revision != "new" {
						t.Errorf("error %v, seen at %q", err, last.Revision)
					}
					return
				}
				var object *executor.ObjectError
				if !errors.As(err, &object) || !object.Final || !strings.Contains(object.Message, tc.want) {
					t.Errorf("error = %v, want %q", err, tc.want)
				}
			})
		})
	}
}

// TestDesk answers a request only when the run has taken what follows it.
func TestDesk(t *testing.T) {
	spec := rollout.Spec{Steps: []rollout.StepSpec{{Label: "100"}, {Label: "200,210", Limit: -1}}, Components: []rollout.ComponentSpec{{Name: "a"}, {Name: "b", Step: 1}}}
	control := make(chan rollout.Event)
	d := newSteering(spec, control)
	d.notice(executor.Notice{Components: []rollout.ComponentState{{Name: "a", Status: rollout.Failed}}})
	for name, tc := range map[string]struct {
		request incluster.Request
		event   rollout.Event
		message string
	}{
		"pause":           {incluster.Request{Action: incluster.Pause, By: "me"}, rollout.Pause{By: "me"}, "paused: 0 in flight go on, 1 wait"},
		"not paused":      {incluster.Request{Action: incluster.Resume}, nil, "the rollout is not paused"},
		"abort":           {incluster.Request{Action: incluster.Abort, By: "me"}, rollout.Abort{By: "me"}, "aborted: 0 in flight stopped, 1 never start"},
		"approve":         {incluster.Request{Action: incluster.Approve, Target: "210", By: "me"}, rollout.Approve{Step: 1, By: "me"}, "approved step 200,210"},
		"approve nothing": {incluster.Request{Action: incluster.Approve, Target: "300"}, nil, `the rollout has no step "300"; steps that wait for an approval: 200,210`},
		"retry":           {incluster.Request{Action: incluster.Retry, Target: "a"}, rollout.Retry{Component: "a"}, "retried: a starts again"},
		"retry a waiting": {incluster.Request{Action: incluster.Retry, Target: "b"}, nil, "b is blocked: there is nothing to retry"},
		"retry all":       {incluster.Request{Action: incluster.Retry}, rollout.Retry{}, "retried: 1 start again"},
		"unknown":         {incluster.Request{Action: "dance"}, nil, `this run does not know the request "dance"`},
	} {
		t.Run(name, func(t *testing.T) {
			answers := make(chan incluster.Answer, 1)
			go func() { answers <- d.take(t.Context(), tc.request) }()
			if tc.event != nil {
				if got := <-control; got != tc.event {
					t.Errorf("event %#v, want %#v", got, tc.event)
				}
				select {
				case <-answers:
					t.Error("answered before it was persisted")
				case <-time.After(20 * time.Millisecond):
				}
				if _, ok := (<-control).(rollout.Tick); !ok {
					t.Error("no tick follows")
				}
			}
			a := <-answers
			if a.Message != tc.message || a.Refused != (tc.event == nil) {
				t.Errorf("answer %+v, want %q", a, tc.message)
			}
		})
	}
}
