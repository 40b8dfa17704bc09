package roles_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis/roles"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

func TestTypeOfWhatIsHeld(t *testing.T) {
	versions := map[string]string{"CustomResourceDefinition": "apiextensions.k8s.io/v1", "Deployment": "apps/v1"}
	bands := []plan.Band{{Name: "small", From: 0, To: 19}, {Name: "foundation", From: 100, To: 199}}
	application := func(name string) model.Component {
		return model.Component{Name: name, Object: true, Type: model.Runtime, Phase: model.NoPhase}
	}
	described := func(phase model.Phase) model.Component {
		return model.Component{Name: "store-operator", Type: model.Runtime, Phase: phase}
	}
	written := application("things")
	written.Fields = map[string]finding.Position{"componentType": {}}
	tests := map[string]struct {
		c     model.Component
		kinds string // "-" for what is not rendered
		want  model.Type
	}{
		"CRDs alone":                           {application("things"), "CustomResourceDefinition CustomResourceDefinition", model.CRDs},
		"CRDs and who serves them":             {application("things"), "CustomResourceDefinition Deployment Service", model.Operator},
		"CRDs and what uses them":              {application("things"), "CustomResourceDefinition Thing", model.Runtime},
		"CRDs beside data":                     {application("things"), "CustomResourceDefinition Deployment PersistentVolumeClaim", model.Runtime},
		"namespaces alone":                     {application("things"), "Namespace", model.Namespaces},
		"a workload":                           {application("things"), "Deployment ConfigMap", model.Runtime},
		"a name, where nothing is known":       {application("things-crds"), "-", model.CRDs},
		"a name that what is held contradicts": {application("things-crds"), "Deployment", model.Runtime},
		"an operator that runs nothing":        {application("things-operator"), "ConfigMap", model.Config},
		"secrets alone":                        {application("things"), "ExternalSecret ClusterSecretStore Namespace", model.Secrets},
		"settings alone":                       {application("things"), "ConfigMap", model.Config},
		"secrets beside settings":              {application("things"), "Secret ConfigMap", model.Runtime},
		"an operator with CRDs elsewhere":      {application("things-operator"), "Deployment", model.Operator},
		"a name that nothing contradicts":      {application("things-config"), "ConfigMap", model.Config},
		"written down":                         {written, "CustomResourceDefinition", model.Runtime},
		"a descriptor without a slot":          {described(10), "CustomResourceDefinition", model.CRDs},
		"a descriptor in the slot of runtimes": {described(150), "CustomResourceDefinition", model.Runtime},
		"a descriptor's name says nothing":     {described(10), "-", model.Runtime},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var objects []manifest.Object
			for kind := range strings.FieldsSeq(test.kinds) {
				version := versions[kind]
				if version == "" {
					version = "v1"
				}
				objects = append(objects, manifest.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}})
			}
			if test.kinds == "-" {
				objects = nil
			}
			if got := roles.Of(&test.c, bands, objects, objects != nil); got != test.want {
				t.Errorf("it is %s, not %s", got, test.want)
			}
		})
	}
}
