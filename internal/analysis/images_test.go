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
