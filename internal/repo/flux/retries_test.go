package flux

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// TestRetries: a strategy of the release wins over the default one.
func TestRetries(t *testing.T) {
	release := func(strategy string) manifest.Object {
		install := map[string]any{"strategy": map[string]any{"name": strategy}}
		return manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"install": install}}}}
	}
	for _, test := range []struct {
		strategy        string
		byDefault, want bool
	}{{"", false, false}, {"", true, true}, {"RemediateOnFailure", true, false}, {"RetryOnFailure", false, true}} {
		if got := retries(release(test.strategy), test.byDefault); got != test.want {
			t.Errorf("%q, by default %t: %t", test.strategy, test.byDefault, got)
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
