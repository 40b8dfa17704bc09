package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
	"github.com/rollout-ladder/ladder/internal/simulate/kubelet"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// How long one pod of a smoke Job keeps trying before it fails, with a least real
// time for slow machines; and how often.
const (
	smokePatience      = 2 * time.Minute
	smokeLeastPatience = 2 * time.Second
	smokeLeastPause    = 250 * time.Millisecond
	smokeEvery         = 5 * time.Second
)

// smokes returns what a smoke Job's pod does: it tries its checks until they
// hold, as the scripts of smokes do, or it runs out of patience.
func smokes(w *world.World) (kubelet.Smoke, error) {
	own, err := smoke.Connect(w.REST, time.Now)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, e kubelet.Examination) error {
		fillOpen(ctx, w, e.Checks)
		client := own
		if e.ServiceAccount != "" {
			as := rest.CopyConfig(w.REST)
			as.Impersonate = serviceAccount(e.Namespace, e.ServiceAccount)
			theirs, err := smoke.Connect(as, time.Now)
			if err != nil {
				return err
			}
			client = theirs
		}
		patience := smokePatience
		if e.Wait > 0 {
			patience = e.Wait
		}
		deadline := w.Clock.Now().Add(w.Clock.AtLeast(patience, smokeLeastPatience))
		last, told := "", ""
		for {
			err := askOnce(ctx, own, client, e.Checks)
			if err == nil || w.Clock.Now().After(deadline) {
				return err
			}
			if failure := err.Error(); e.Tell != nil && failure == last && failure != told {
				e.Tell(failure)
				told = failure
			}
			last = err.Error()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-w.Clock.After(w.Clock.AtLeast(smokeEvery, smokeLeastPause)):
			}
		}
	}, nil
}

// askOnce runs checks through the client that has the rights of the pod. Those
// that open connections need no rights there: what they stand for on a plane, the
// endpoints behind an address, is read with the world's own.
func askOnce(ctx context.Context, own, pod smoke.Client, checks []model.Check) error {
	var failures []error
	for _, c := range checks {
		client := pod
		if c.Kind == model.CheckHTTP || c.Kind == model.CheckTCP {
			client = own
		}
		for _, r := range smoke.Run(ctx, client, []model.Check{c}, smoke.Options{Simulated: true, Now: time.Now}) {
			if !r.OK {
				failures = append(failures, fmt.Errorf("%s: %s", r.Check, r.Message))
			}
		}
	}
	return errors.Join(failures...)
}

// serviceAccount is whom the API server takes a pod for. Source: Kubernetes,
// "Authenticating", service account tokens.
func serviceAccount(namespace, name string) rest.ImpersonationConfig {
	return rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
}

// fillOpen gives Secrets that hold any key those that a smoke looks for.
func fillOpen(ctx context.Context, w *world.World, checks []model.Check) {
	for _, c := range checks {
		if c.Kind != model.CheckSecret {
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
