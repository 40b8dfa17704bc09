package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKustomizeOptionsApply(t *testing.T) {
	for name, test := range map[string]struct {
		options       KustomizeOptions
		content, want map[string]any
	}{
		"nothing": {content: map[string]any{"namePrefix": "a-"}, want: map[string]any{"namePrefix": "a-"}},
		"names win over those written": {
			options: KustomizeOptions{NamePrefix: "b-", Namespace: "n"},
			content: map[string]any{"namePrefix": "a-"}, want: map[string]any{"namePrefix": "b-", "namespace": "n"},
		},
		"images": {
			options: KustomizeOptions{Images: []string{"web=registry:5000/web:2", "db@sha256:1", "registry:5000/plain", "old:3"}},
			content: map[string]any{"images": []any{map[string]any{"name": "old", "newTag": "1"}, map[string]any{"name": "kept"}}},
			want: map[string]any{"images": []any{
				map[string]any{"name": "kept"},
				map[string]any{"name": "web", "newName": "registry:5000/web", "newTag": "2"},
				map[string]any{"name": "db", "digest": "sha256:1"},
				map[string]any{"name": "registry:5000/plain"},
				map[string]any{"name": "old", "newTag": "3"},
			}},
		},
		"labels, annotations and replicas": {
			options: KustomizeOptions{
				CommonLabels: map[string]string{"a": "1"}, LabelWithoutSelector: true,
				CommonAnnotations: map[string]string{"b": "2"}, Replicas: map[string]int{"web": 3},
			},
			content: map[string]any{"commonAnnotations": map[string]any{"b": "1", "c": "3"}},
			want: map[string]any{
				"labels":            []any{map[string]any{"pairs": map[string]any{"a": "1"}, "includeSelectors": false, "includeTemplates": false}},
				"commonAnnotations": map[string]any{"b": "2", "c": "3"},
				"replicas":          []any{map[string]any{"name": "web", "count": 3}},
			},
		},
		"patches and components come after those written": {
			options: KustomizeOptions{Patches: []any{"q"}, Components: []string{"../c"}},
			content: map[string]any{"patches": []any{"p"}},
			want:    map[string]any{"patches": []any{"p", "q"}, "components": []any{"../c"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Apply(test.content)
			if diff := cmp.Diff(test.want, test.content); diff != "" {
				t.Error(diff)
			}
		})
	}
}
