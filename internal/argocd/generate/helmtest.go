package generate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// ofTest ends the names of the Pods and Jobs of Helm tests that are generated. Argo CD
// renders the chart as well: it leaves the hook test out of a sync, but two sources with
// one object are a warning.
const (
	ofTest      = "-smoke"
	longestName = 63
	// longestObject bounds the name of a ConfigMap.
	longestObject = 253
)

// testsOf are the Helm tests that a component asks for, rendered, as hooks of PostSync:
// Argo CD cannot be told to run those of a chart. Source: Argo CD user guide, "Helm",
// "Helm Hooks".
func (b *builder) testsOf(c *model.Component) ([]*unstructured.Unstructured, error) {
	if !c.HelmTest {
		return nil, nil
	}
	at := c.At("smoke.helmTest")
	if why := b.in.Unrendered[c.Name]; why != "" {
		return nil, b.refuse(at, "", "the Helm tests of %s cannot be rendered: %s", c.Name, why)
	}
	var tests []*unstructured.Unstructured
	for _, o := range b.in.Objects[c.Name] {
		if !manifest.IsHelmTest(o.Unstructured) {
			continue
		}
		if o.GetKind() == "Secret" {
			return nil, b.refuse(at, "have the tests use a Secret that is no test hook", "the Helm tests of %s bring the Secret %s, which would be committed", c.Name, o.GetName())
		}
		test := o.DeepCopy()
		if kind := o.GetKind(); (kind == "Pod" || kind == "Job") && o.GetName() != "" {
			name := o.GetName()
			test.SetName(name[:min(len(name), longestName-len(ofTest))] + ofTest)
		}
		tests = append(tests, test)
	}
	if len(tests) == 0 {
		return nil, b.refuse(at, "add a test to the chart, or leave helmTest out", "%s asks for the Helm tests of its chart, which has none", c.Name)
	}
	return tests, nil
}

// hasSmoke reports whether a component has files below the folder of smokes.
func hasSmoke(c *model.Component) bool { return len(c.Smoke) > 0 || c.HelmTest }

// ofTests ends the name of the ConfigMap that goes with Helm tests.
const ofTests = "-helm-tests"

// helmTestObjects are the Helm tests of a component behind a ConfigMap of what they are
// and what they validate. Hooks do not count in what Argo CD compares: an Application of
// nothing else is Synced from the start and never synced, and no change of a test or of
// what it tests would run it again.
func (b *builder) helmTestObjects(c *model.Component) ([]*unstructured.Unstructured, error) {
	tests, err := b.testsOf(c)
	if err != nil || len(tests) == 0 {
		return nil, err
	}
	validated, err := b.fingerprint(c)
	if err != nil {
		return nil, err
	}
	text, err := smokejob.YAML(tests)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"tests": hex.EncodeToString(sum[:])[:fingerprintLength]},
	}}
	config.SetName(c.Name[:min(len(c.Name), longestObject-len(ofTests))] + ofTests)
	config.SetNamespace(cmp.Or(c.Namespace, tests[0].GetNamespace()))
	config.SetLabels(map[string]string{labelManagedBy: managedBy})
	if validated != "" {
		config.SetAnnotations(map[string]string{smokejob.FingerprintAnnotation: validated})
	}
	return append([]*unstructured.Unstructured{config}, tests...), nil
}

// helmTests writes the Helm tests of a component.
func (b *builder) helmTests(c *model.Component) error {
	objects, err := b.helmTestObjects(c)
	if err != nil || len(objects) == 0 {
		return err
	}
	text, err := smokejob.YAML(objects)
	if err != nil {
		return err
	}
	b.write(path.Join(smokesDir, c.Name, "helm-tests.yaml"), text)
	return nil
}
