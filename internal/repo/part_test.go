package repo_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/repo"
)

// TestPlatformIsPartOfRepository opens a folder of a repository whose sources are
// relative to the top, as Argo CD reads them.
func TestPlatformIsPartOfRepository(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- infra/gitops/root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root}
spec: {source: {repoURL: https://example.org/r, path: infra/gitops/apps}}
-- infra/gitops/apps/web.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: https://example.org/r, path: services/web}}
-- infra/gitops/apps/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set}
spec:
  generators: [{git: {repoURL: https://example.org/r, files: [{path: infra/gitops/tools/*/tool.yaml}]}}]
  template:
    metadata: {name: '{{path.basename}}'}
    spec: {source: {repoURL: https://example.org/r, path: '{{path}}/deploy'}}
-- infra/gitops/tools/one/tool.yaml --
a: b
-- infra/gitops/tools/one/deploy/kustomization.yaml --
resources: []
-- services/web/Chart.yaml --
`)))
	p, err := repo.Open(context.Background(), filepath.Join(dir, "infra/gitops"), repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range p.Components {
		got[c.Name] = string(c.Sources[0].Kind) + " " + c.Sources[0].Path + " at " + c.Position.String()
	}
	want := map[string]string{
		"web": "chart ../../services/web at apps/web.yaml:1",
		"one": "kustomize tools/one/deploy at tools/one/tool.yaml:1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(p.Findings) > 0 {
		t.Errorf("findings %v", p.Findings)
	}
}
