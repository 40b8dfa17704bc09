package render

import (
	"context"
	"slices"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Helm asks for the names of dependencies only: the version that is in the charts folder is rendered.
func TestDependencyOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, `
-- web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
dependencies:
- {name: base, version: 2.0.0, repository: "https://charts.example.org"}
-- web/charts/base/Chart.yaml --
apiVersion: v2
name: base
version: 1.0.0
-- web/charts/base/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "base-{{ .Chart.Version }}"}
`)
	r := New(dir, dir, Options{Offline: true, NoCache: true, Partial: true})
	for _, result := range r.All(context.Background(), []model.Component{chart("web", "web")}, nil) {
		var names []string
		for _, o := range result.Objects {
			names = append(names, o.GetName())
		}
		if result.Err != nil || !slices.Equal(names, []string{"base-1.0.0"}) {
			t.Errorf("%v, error %v", names, result.Err)
		}
	}
}
