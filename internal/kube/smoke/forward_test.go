package smoke

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type oneService struct{ service, slice map[string]any }

func (c oneService) Get(context.Context, schema.GroupKind, string, string) (*unstructured.Unstructured, error) {
	return &unstructured.Unstructured{Object: c.service}, nil
}

func (c oneService) List(context.Context, schema.GroupKind, string) ([]*unstructured.Unstructured, error) {
	return []*unstructured.Unstructured{{Object: c.slice}}, nil
}

func TestPodBehind(t *testing.T) {
	client := oneService{
		service: map[string]any{"spec": map[string]any{"ports": []any{
			map[string]any{"name": "http", "port": int64(80)}, map[string]any{"name": "db", "port": int64(5432)},
		}}},
		slice: map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"kubernetes.io/service-name": "web"}},
			"ports":    []any{map[string]any{"name": "http", "port": int64(8080)}, map[string]any{"name": "db", "port": int64(15432)}},
			"endpoints": []any{
				map[string]any{"targetRef": map[string]any{"name": "web-0"}, "conditions": map[string]any{"ready": false}},
				map[string]any{"targetRef": map[string]any{"name": "web-1"}, "conditions": map[string]any{"ready": true}},
			},
		},
	}
	got, err := podBehind(t.Context(), client, "a", "web", 5432)
	if err != nil || got != (podPort{"a", "web-1", 15432}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := podBehind(t.Context(), client, "a", "web", 81); err == nil || !strings.Contains(err.Error(), "no port 81") {
		t.Errorf("error = %v", err)
	}
	if _, err := podBehind(t.Context(), client, "a", "other", 80); err == nil || !strings.Contains(err.Error(), "no ready endpoint") {
		t.Errorf("error = %v", err)
	}
}
