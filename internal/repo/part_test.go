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

// TestPartOfFluxRepository opens a folder of a repository that Flux applies: the paths of its
// Kustomizations are relative to the top of the repository, whatever the folder is.
func TestPartOfFluxRepository(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- system/flux-system/gotk-sync.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://example.org/r, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./system, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
-- system/flux-system/base-ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: base, namespace: flux-system}
spec: {interval: 10m, path: ./system/base, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
-- system/flux-system/web-ks.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec: {interval: 10m, path: ./apps/web, prune: true, dependsOn: [{name: base}], sourceRef: {kind: GitRepository, name: flux-system}}
-- system/base/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
-- apps/web/release.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: default}
spec: {interval: 10m, chart: {spec: {chart: ./charts/shop, valuesFiles: [./charts/shop/values-small.yaml], sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}}
-- charts/shop/Chart.yaml --
apiVersion: v2
name: shop
version: 1.0.0
-- charts/shop/values-small.yaml --
size: small
-- system/kustomization.yaml --
resources: [flux-system]
-- system/flux-system/kustomization.yaml --
resources: [gotk-sync.yaml, base-ks.yaml, web-ks.yaml]
`)))
	for folder, want := range map[string]map[string]string{
		".": {
			"flux-system": "system at system/flux-system/gotk-sync.yaml:6", "base": "system/base at system/flux-system/base-ks.yaml:1",
			"web": "apps/web at system/flux-system/web-ks.yaml:1", "shop": "charts/shop charts/shop/values-small.yaml at apps/web/release.yaml:1",
		},
		"system": {
			"flux-system": ". at flux-system/gotk-sync.yaml:6", "base": "base at flux-system/base-ks.yaml:1",
			"web": "../apps/web at flux-system/web-ks.yaml:1", "shop": "../charts/shop ../charts/shop/values-small.yaml at ../apps/web/release.yaml:1",
		},
		"system/flux-system": {
			"flux-system": ".. at gotk-sync.yaml:6", "base": "../base at base-ks.yaml:1",
			"web": "../../apps/web at web-ks.yaml:1", "shop": "../../charts/shop ../../charts/shop/values-small.yaml at ../../apps/web/release.yaml:1",
		},
	} {
		p, err := repo.Open(context.Background(), filepath.Join(dir, folder), repo.Options{Renderer: renderer})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range p.Components {
			text := c.Sources[0].Path
			for _, v := range c.Sources[0].ValueFiles {
				text += " " + v.Path
			}
			got[c.Name] = text + " at " + c.Position.String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", folder, diff)
		}
		if len(p.Findings) > 0 {
			t.Errorf("%s: findings %v", folder, p.Findings)
		}
	}
}
