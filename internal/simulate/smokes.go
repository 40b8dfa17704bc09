package simulate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/simulate/kubelet"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
	"github.com/rollout-ladder/ladder/internal/smoke"
)

// How long one pod of a smoke Job keeps trying before it fails, before that is
// divided by the speed, with a least real time for slow machines; and how often.
const (
	smokePatience      = 2 * time.Minute
	smokeLeastPatience = 2 * time.Second
	smokeEvery         = 250 * time.Millisecond
)

// smokes returns what a smoke Job's pod does: it tries its checks until they
// hold, as the scripts of smokes do, or it runs out of patience.
func smokes(w *world.World, once kubelet.Smoke) (kubelet.Smoke, error) {
	if once == nil {
		d, err := discovery.NewDiscoveryClientForConfig(w.REST)
		if err != nil {
			return nil, fmt.Errorf("make a discovery client: %w", err)
		}
		client := smoke.NewCluster(w.Dynamic, d, w.Clock.Now)
		once = func(ctx context.Context, checks []component.Check) error {
			var failures []error
			for _, r := range smoke.Run(ctx, client, checks, smoke.Options{Simulated: true, Now: w.Clock.Now}) {
				if !r.OK {
					failures = append(failures, fmt.Errorf("%s: %s", r.Check, r.Message))
				}
			}
			return errors.Join(failures...)
		}
	}
	return func(ctx context.Context, checks []component.Check) error {
		deadline := w.Clock.Now().Add(max(smokeLeastPatience, w.Config().Scale(smokePatience)))
		for {
			err := once(ctx, checks)
			if err == nil || w.Clock.Now().After(deadline) {
				return err
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-w.Clock.After(smokeEvery):
			}
		}
	}, nil
}
