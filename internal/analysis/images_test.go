package analysis

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestImages: which references are told, by the grammar of the registries.
func TestImages(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0123456789abcdef", 4)
	for image, want := range map[string]lint.ImageForm{
		"nginx":                              lint.ImageWithoutTag,
		"localhost:5000/team/app":            lint.ImageWithoutTag,
		"ghcr.io/org/app:latest":             lint.ImageLatest,
		"nginx:1.29":                         0,
		"localhost:5000/team/app:1":          0,
		"nginx" + digest:                     0,
		"nginx:latest" + digest:              0,
		"nginx@sha256:0123":                  lint.ImageMalformed,
		"nginx:1.29:1.29":                    lint.ImageMalformed,
		"ghcr.io/Org/app:1":                  lint.ImageMalformed,
		"https://ghcr.io/org/app:1":          lint.ImageMalformed,
		"nginx:" + strings.Repeat("1", 129):  lint.ImageMalformed,
		"nginx: 1.29":                        lint.ImageMalformed,
		"${REGISTRY}/app:${TAG}":             0,
		"IMAGE_PLACEHOLDER":                  0,
		"ko://github.com/org/app/cmd/server": 0,
		"auto":                               0,
		"":                                   lint.ImageEmpty,
	} {
		pod := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": image}}},
		}}
		var got lint.ImageForm
		if told := new(Result).images(model.Component{}, manifest.Object{Unstructured: pod}); len(told) > 0 {
			got = told[0].Form
		}
		if got != want {
			t.Errorf("%q: form %d, want %d", image, got, want)
		}
		// Values that are not known may name another image; one that is malformed stays told.
		incomplete := model.Component{Sources: []model.Source{{Kind: model.Chart, Incomplete: "its values are not known"}}}
		told := new(Result).images(incomplete, manifest.Object{Unstructured: pod})
		if len(told) > 0 != (want == lint.ImageMalformed) {
			t.Errorf("%q of a source that is not known whole: %v", image, told)
		}
	}
}

// TestOperatorImages: which fields of custom resources are images that run.
func TestOperatorImages(t *testing.T) {
	for name, test := range map[string]struct {
		version, kind string
		spec          map[string]any
		want          string // the field that is told
	}{
		"a Cluster of CloudNativePG": {"postgresql.cnpg.io/v1", "Cluster", map[string]any{"imageName": "ghcr.io/cloudnative-pg/postgresql:latest"}, "spec.imageName"},
		"without a tag":              {"k8s.keycloak.org/v2alpha1", "Keycloak", map[string]any{"image": "quay.io/keycloak/keycloak"}, "spec.image"},
		"malformed":                  {"monitoring.coreos.com/v1", "Prometheus", map[string]any{"image": "quay.io/prometheus/prometheus:v3:v3"}, "spec.image"},
		"below a part":               {"kafka.strimzi.io/v1", "Kafka", map[string]any{"kafka": map[string]any{"image": "quay.io/strimzi/kafka:latest"}}, "spec.kafka.image"},
		"with a version":             {"elasticsearch.k8s.elastic.co/v1", "Elasticsearch", map[string]any{"image": "registry.example/elasticsearch:9.1.0"}, ""},
		"an empty one":               {"k8s.keycloak.org/v2alpha1", "Keycloak", map[string]any{"image": ""}, ""},
		"a part of one":              {"k8s.keycloak.org/v2alpha1", "Keycloak", map[string]any{"image": map[string]any{"repository": "quay.io/keycloak/keycloak"}}, ""},
		"containers of any kind": {"example.org/v1", "Site", map[string]any{"podTemplate": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "web", "image": "registry.example/web:latest"}}}}}, "spec.podTemplate.spec.containers[0].image"},
		"containers that a policy asks for": {"kyverno.io/v1", "ClusterPolicy", map[string]any{"pattern": map[string]any{
			"containers": []any{map[string]any{"name": "*", "image": "registry.example/web"}}}}, ""},
		"values of a chart": {"helm.toolkit.fluxcd.io/v2", "HelmRelease", map[string]any{"values": map[string]any{
			"containers": []any{map[string]any{"name": "web", "image": "registry.example/web"}}}}, ""},
		"a repository that is watched": {"image.toolkit.fluxcd.io/v1", "ImageRepository", map[string]any{"image": "ghcr.io/org/app"}, ""},
		"a disk":                       {"infrastructure.example.org/v1", "Machine", map[string]any{"image": "ubuntu-22.04"}, ""},
		"a picture":                    {"example.org/v1", "Link", map[string]any{"image": "https://example.org/logo.png"}, ""},
		"what a build pushes":          {"shipwright.io/v1beta1", "Build", map[string]any{"output": map[string]any{"image": "registry.example/app:latest"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			resource := &unstructured.Unstructured{Object: map[string]any{"apiVersion": test.version, "kind": test.kind, "spec": test.spec}}
			got := ""
			for _, image := range new(Result).images(model.Component{}, manifest.Object{Unstructured: resource}) {
				got += image.Field
			}
			if got != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}
