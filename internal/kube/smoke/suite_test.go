package smoke_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
)

// flaky is a Client on which a Secret exists in some rounds only: the string of
// each name holds + or - for its first question, its second, and so on; the last
// one stays.
type flaky map[string]*string

func (f flaky) Get(_ context.Context, _ schema.GroupKind, _, name string) (*unstructured.Unstructured, error) {
	left := f[name]
	now := (*left)[0]
	if len(*left) > 1 {
		*left = (*left)[1:]
	}
	switch now {
	case '!':
		return nil, &smoke.UnreachableError{What: "get " + name, Err: errors.New("refused")}
	case '-':
		return nil, &smoke.NotFoundError{What: name}
	}
	return &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "Yg=="}}}, nil
}

func (flaky) List(context.Context, schema.GroupKind, string) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

// TestRunSuites waits with a clock that jumps whenever someone waits for it.
func TestRunSuites(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second string
		timeout       time.Duration
		holds         []bool
		attempts      []int
		late          bool
	}{
		"once":                    {"+", "-+", 0, []bool{true, false}, []int{1, 1}, false},
		"at once":                 {"+", "+", time.Minute, []bool{true, true}, []int{1, 1}, false},
		"the second comes later":  {"+", "--+", time.Minute, []bool{true, true}, []int{2, 4}, false},
		"the first ceases":        {"+-+", "-+", time.Minute, []bool{true, true}, []int{4, 4}, false},
		"never":                   {"+", "-", 7 * time.Second, []bool{true, false}, []int{1, 5}, true},
		"unreachable for a while": {"!!+", "+", time.Minute, []bool{true, true}, []int{4, 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := flaky{"first": &tc.first, "second": &tc.second}
			now := testclock.NewFakeClock(time.Unix(0, 0))
			done := make(chan struct{})
			defer close(done)
			go func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(time.Millisecond):
						if now.HasWaiters() {
							now.Step(2 * time.Second)
						}
					}
				}
			}()
			suites := []smoke.Suite{
				{Component: "a", Checks: []model.Check{{Kind: model.CheckSecret, Name: "first"}}},
				{Component: "b", Checks: []model.Check{{Kind: model.CheckSecret, Name: "second"}}},
			}
			answers, late, err := smoke.RunSuites(t.Context(), client, suites, smoke.Options{}, smoke.Waiting{Timeout: tc.timeout, Clock: now})
			if err != nil {
				t.Fatal(err)
			}
			var holds []bool
			var attempts []int
			for _, a := range answers {
				holds, attempts = append(holds, a.OK), append(attempts, a.Attempts)
			}
			if diff := cmp.Diff(tc.holds, holds); diff != "" {
				t.Errorf("holds: %s", diff)
			}
			if diff := cmp.Diff(tc.attempts, attempts); diff != "" {
				t.Errorf("attempts: %s", diff)
			}
			if late != tc.late {
				t.Errorf("late = %v", late)
			}
		})
	}
}

func TestRunSuitesInterrupted(t *testing.T) {
	first := "-"
	ctx, cancel := context.WithCancel(t.Context())
	suites := []smoke.Suite{{Component: "a", Checks: []model.Check{{Kind: model.CheckSecret, Name: "first"}}}}
	answers, _, err := smoke.RunSuites(ctx, flaky{"first": &first}, suites, smoke.Options{}, smoke.Waiting{
		Timeout: time.Hour, Round: func([]smoke.Answer) { cancel() },
	})
	if !errors.Is(err, context.Canceled) || len(answers) != 1 || answers[0].Message != "first does not exist" {
		t.Errorf("got %+v, %v", answers, err)
	}
}
