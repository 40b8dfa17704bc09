package flux

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// TestRetries: a strategy of the release wins over the default one, and tries at intervals.
func TestRetries(t *testing.T) {
	release := func(strategy, interval string) manifest.Object {
		install := map[string]any{"strategy": map[string]any{"name": strategy, "retryInterval": interval}}
		return manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"install": install}}}}
	}
	for _, test := range []struct {
		strategy, interval string
		byDefault, want    bool
		every              time.Duration
	}{
		{"", "", false, false, 0}, {"", "", true, true, 5 * time.Minute}, {"RemediateOnFailure", "", true, false, 0},
		{"RetryOnFailure", "", false, true, 5 * time.Minute}, {"RetryOnFailure", "90s", false, true, 90 * time.Second},
	} {
		if got, every := retries(release(test.strategy, test.interval), test.byDefault); got != test.want || every != test.every {
			t.Errorf("%q, by default %t: %t, every %s", test.strategy, test.byDefault, got, every)
		}
	}
}

// TestRetriesByDefault: the feature gate counts as an argument, not where a text speaks of it.
func TestRetriesByDefault(t *testing.T) {
	for text, want := range map[string]bool{
		"value: --feature-gates=DefaultToRetryOnFailure=true,Other=true": true,
		"value: we do not use DefaultToRetryOnFailure=true":              false,
	} {
		v, err := yamldoc.ParseOne("instance.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s := &searched{}
		if s.instances(v, 0); s.retries != want {
			t.Errorf("%s: %t", text, s.retries)
		}
	}
}
