package scenarios

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// The examples are right in every environment. The warnings that are left are
// true: the tiers have Vault, its certificates and its bootstrap in one wave, and
// the secret store beside its bundles, as their README says.
func TestExamplesAreRight(t *testing.T) {
	for example, want := range map[string][]string{
		"ameide":    nil,
		"zerotouch": nil,
		"ameide-tiers": {
			"warning bootstrap-before-runtime foundation-vault-bootstrap foundation-vault-core -",
			"warning declared-edge-against-order foundation-vault-bootstrap foundation-vault-webhook-certs -",
			"warning declared-edge-against-order foundation-vault-core foundation-vault-webhook-certs -",
			"warning declared-edge-against-order foundation-vault-secrets-observability foundation-vault-secret-store -",
			"warning declared-edge-against-order foundation-vault-secrets-platform foundation-vault-secret-store -",
		},
	} {
		t.Run(example, func(t *testing.T) {
			all, err := analysis.LoadAll(context.Background(), filepath.Join(root, "examples", example), analysis.Options{Offline: true, NoCache: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, environment := range all {
				var got []string
				for _, f := range lint.Run(environment.Lint(), lint.Options{}) {
					if f.Severity != finding.Info {
						got = append(got, line(f))
					}
				}
				slices.Sort(got)
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", environment.Platform.Environment, diff)
				}
			}
		})
	}
}

// The example of Applications is written by hand, and its waves hold only with a
// check as strict as the one that is generated.
func TestExampleChecksApplicationsAsGenerated(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "examples", "zerotouch", "bootstrap", "argocd", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := health.OwnScript(schema.GroupKind{Group: "argoproj.io", Kind: "Application"})
	if !ok {
		t.Fatal("there is no script for Applications")
	}
	for _, o := range objects {
		if o.Object.GetKind() != "ConfigMap" {
			continue
		}
		got, _, err := unstructured.NestedString(o.Object.Object, "data", "resource.customizations.health.argoproj.io_Application")
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return
	}
	t.Error("the example has no argocd-cm")
}
