package generate

import (
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

// helmTests writes the Helm tests of a component.
func (b *builder) helmTests(c *model.Component) error {
	tests, err := b.testsOf(c)
	if err != nil || len(tests) == 0 {
		return err
	}
	text, err := smokejob.YAML(tests)
	if err != nil {
		return err
	}
	b.write(path.Join(smokesDir, c.Name, "helm-tests.yaml"), text)
	return nil
}
