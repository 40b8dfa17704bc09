package rehearse

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// worldConfig tells the simulated world how each component behaves.
func worldConfig(loaded *analysis.Result, planned *plan.Plan, o Options) (settings.Config, error) {
	c := settings.Config{Speed: o.Speed, Seed: o.Seed, Jitter: &o.Jitter, Components: map[string]settings.Component{}}
	expected := map[string]time.Duration{}
	for _, span := range planned.Schedule {
		expected[span.Component] = span.End - span.Start
	}
	for _, comp := range loaded.Platform.Components {
		if !comp.Enabled {
			continue
		}
		c.Components[comp.Name] = settings.Component{
			Delay: expected[comp.Name], Fault: o.Faults[comp.Name], Checks: comp.Smoke,
		}
	}
	for _, file := range loaded.Platform.Simulation.RuleFiles {
		text, err := os.ReadFile(filepath.Join(loaded.Platform.Root, filepath.FromSlash(file)))
		if err != nil {
			return settings.Config{}, fmt.Errorf("read simulation rules %s: %w", file, err)
		}
		c.Rules = append(c.Rules, settings.Rules{Name: file, Text: string(text)})
	}
	return c, nil
}

// applyPatience is how often what applyConfig asks for is asked again, over half
// a minute, while the plane cannot answer.
func applyPatience() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 1.6, Steps: 12, Cap: 5 * time.Second}
}

// applyConfig writes the configuration to where the simulated world watches it,
// and makes the namespaces that are there before the first component.
func applyConfig(ctx context.Context, access *rest.Config, c settings.Config, namespaces []string) error {
	client, err := corev1client.NewForConfig(access)
	if err != nil {
		return err
	}
	for _, name := range append([]string{settings.Namespace}, namespaces...) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		err := patiently(ctx, func() error {
			_, err := client.Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
			return err
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	cm, err := c.ConfigMap()
	if err != nil {
		return err
	}
	maps := client.ConfigMaps(settings.Namespace)
	return patiently(ctx, func() error {
		_, err := maps.Create(ctx, cm, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = maps.Update(ctx, cm, metav1.UpdateOptions{})
		}
		return err
	})
}

// patiently repeats a request while its error is of the kind that goes away.
func patiently(ctx context.Context, request func() error) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, applyPatience(), func(context.Context) (bool, error) {
		last = request()
		if engine.Transient(last) && ctx.Err() == nil {
			return false, nil
		}
		return true, last
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}
