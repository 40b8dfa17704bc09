package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		fillOpen(ctx, w, checks)
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

// fillOpen gives Secrets that hold any key those that a smoke looks for.
func fillOpen(ctx context.Context, w *world.World, checks []component.Check) {
	for _, c := range checks {
		if c.Kind != component.CheckSecret {
			continue
		}
		secret := w.Secrets.Get(c.Namespace, c.Name)
		if secret == nil || secret.Annotations[kubelet.OpenAnnotation] != "true" {
			continue
		}
		missing := map[string][]byte{}
		for _, k := range c.Keys {
			if len(secret.Data[k]) == 0 {
				missing[k] = []byte("simulated")
			}
		}
		if len(missing) == 0 {
			continue
		}
		patch, err := json.Marshal(map[string]any{"data": missing})
		if err == nil {
			_, err = w.Client.CoreV1().Secrets(c.Namespace).Patch(ctx, c.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
		if err != nil {
			w.Log.Warn("simulated world: cannot fill a Secret", "namespace", c.Namespace, "name", c.Name, "error", err)
		}
	}
}
