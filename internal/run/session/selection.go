package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// Select leaves the selected components in a spec, and those outside of the
// selection that one of them requires directly: these are not applied, but must
// be Healthy as they are. They wait for nothing, and a step that has only such
// needs no approval.
func Select(spec rollout.Spec, selected map[string]bool) (narrowed rollout.Spec, outside map[string]bool) {
	outside = map[string]bool{}
	for _, c := range spec.Components {
		if !selected[c.Name] {
			continue
		}
		for _, r := range c.Requires {
			if !selected[r] {
				outside[r] = true
			}
		}
	}
	narrowed = spec
	narrowed.Steps = append([]rollout.StepSpec(nil), spec.Steps...)
	narrowed.Components, narrowed.Remove = nil, nil
	own := make([]bool, len(spec.Steps))
	for _, c := range spec.Components {
		switch {
		case selected[c.Name]:
			own[c.Step] = true
			narrowed.Components = append(narrowed.Components, c)
		case outside[c.Name]:
			c.Requires, c.After, c.Retry = nil, 0, rollout.RetrySpec{}
			narrowed.Components = append(narrowed.Components, c)
		}
	}
	for i := range narrowed.Steps {
		if !own[i] {
			narrowed.Steps[i].Limit, narrowed.Steps[i].Approval = 0, false
		}
	}
	return narrowed, outside
}

// Driven leaves the components in a spec that Applications stand for.
func Driven(spec rollout.Spec, applications map[string]status.Ref) rollout.Spec {
	driven := map[string]bool{}
	for name := range applications {
		driven[name] = true
	}
	narrowed, _ := Select(gated(spec, applications), driven)
	return narrowed
}

// gated leaves the gates in a spec that Applications stand for. What has none was
// there before Argo CD, and no gate waits for it.
func gated(spec rollout.Spec, applications map[string]status.Ref) rollout.Spec {
	spec.Components = slices.Clone(spec.Components)
	for i, c := range spec.Components {
		var requires []string
		for _, r := range c.Requires {
			if _, driven := applications[r]; driven {
				requires = append(requires, r)
			}
		}
		spec.Components[i].Requires = requires
	}
	return spec
}

// outsidePatience is how long a component outside of the selection may take to
// be seen Healthy.
const outsidePatience = 10 * time.Second

// selection is an engine that applies nothing of the components outside of the
// selection: they only have to be Healthy, at whatever revision.
type selection struct {
	executor.Engine
	outside  map[string]bool
	revision string
	clock    clock.Clock

	mu      sync.Mutex
	seen    map[string]executor.Observation
	changed chan struct{} // closed, and replaced, at every observation
}

func newSelection(engine executor.Engine, outside map[string]bool, revision string, c clock.Clock) *selection {
	return &selection{
		Engine: engine, outside: outside, revision: revision, clock: c,
		seen: map[string]executor.Observation{}, changed: make(chan struct{}),
	}
}

// Watch implements executor.Engine.
func (s *selection) Watch(ctx context.Context, sink func(executor.Observation)) error {
	return s.Engine.Watch(ctx, func(o executor.Observation) {
		if s.outside[o.Component] {
			if o.Health == rollout.Healthy {
				o.Revision = s.revision
			}
			s.mu.Lock()
			s.seen[o.Component] = o
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
		}
		sink(o)
	})
}

// Sync implements executor.Engine.
func (s *selection) Sync(ctx context.Context, component string) error {
	if !s.outside[component] {
		return s.Engine.Sync(ctx, component)
	}
	patience := s.clock.NewTimer(outsidePatience)
	defer patience.Stop()
	for {
		s.mu.Lock()
		o, seen, changed := s.seen[component], s.seen[component].Component != "", s.changed
		s.mu.Unlock()
		if seen && o.Health == rollout.Healthy {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C():
			return outsideError(component, o)
		}
	}
}

func outsideError(component string, o executor.Observation) error {
	message := "is not selected, and must be Healthy for what is; it "
	switch {
	case o.Component == "":
		message += "has not been observed"
	case o.Message != "":
		message += fmt.Sprintf("is %s: %s", o.Health, o.Message)
	default:
		message += "is " + string(o.Health)
	}
	object := o.Object
	if object.Kind == "" {
		object = finding.Resource{Kind: "Component", Name: component}
	}
	return &executor.ObjectError{Object: object, Message: message, Final: true}
}

// Remove implements executor.Engine; a selection removes nothing.
func (s *selection) Remove(context.Context, string) ([]finding.Resource, error) {
	return nil, nil
}
