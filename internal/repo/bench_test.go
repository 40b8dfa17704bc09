package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo"
)

// BenchmarkOpen reads a platform of descriptors of a common size.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			for i := range n {
				folder := filepath.Join(dir, "environments/dev/components/platform", fmt.Sprintf("c%d", i))
				if err := os.MkdirAll(folder, 0o755); err != nil {
					b.Fatal(err)
				}
				text := fmt.Sprintf(`name: c%d
project: platform
namespace: ameide
rolloutPhase: "%03d"
componentType: runtime
requires: [c%d, secret/ameide/db]
chart:
  path: sources/charts/service
  valueFiles:
    - $values/sources/values/shared/{{name}}.yaml
    - {path: "sources/values/dev/{{name}}.yaml", optional: true}
syncOptions: [CreateNamespace=true, RespectIgnoreDifferences=true]
timeout: 10m
`, i, i%700, i/2)
				if err := os.WriteFile(filepath.Join(folder, "component.yaml"), []byte(text), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				p, err := repo.Open(context.Background(), dir, repo.Options{})
				if err != nil || len(p.Components) != n {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkApplications reads repositories of Applications: a root over parents
// over leaves, and an ApplicationSet over folders, each leaf with manifests.
func BenchmarkApplications(b *testing.B) {
	for _, n := range []int{200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			write := func(name, text string) {
				file := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			app := func(name, path string, wave int) string {
				return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: %s\n  annotations: {argocd.argoproj.io/sync-wave: %q}\n"+
					"spec:\n  destination: {namespace: %s}\n  source: {repoURL: https://example.org/r, path: %s}\n", name, fmt.Sprint(wave), name, path)
			}
			write("root.yaml", app("root", "parents", 0))
			for i := range n / 2 {
				parent := fmt.Sprintf("p%d", i/50)
				if i%50 == 0 {
					write("parents/"+parent+".yaml", app(parent, "children/"+parent, i/50))
				}
				name := fmt.Sprintf("c%d", i)
				write("children/"+parent+"/"+name+".yaml", app(name, "leaves/"+name, i%10))
				for _, kind := range []string{"a", "b", "c"} {
					write("leaves/"+name+"/"+kind+".yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+kind+"}\n")
				}
				write(fmt.Sprintf("folders/f%d/kustomization.yaml", i), "resources: [a.yaml]\n")
				write(fmt.Sprintf("folders/f%d/a.yaml", i), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
			}
			write("parents/set.yaml", `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: folders}
spec:
  goTemplate: true
  generators: [{git: {repoURL: https://example.org/r, directories: [{path: folders/*}]}}]
  template:
    metadata: {name: '{{ .path.basenameNormalized }}', labels: {upper: '{{ .path.basename | upper }}'}}
    spec:
      destination: {namespace: '{{ .path.basename }}'}
      source: {repoURL: https://example.org/r, path: '{{ .path.path }}'}
`)
			b.ReportAllocs()
			for b.Loop() {
				all, err := repo.OpenAll(context.Background(), dir, repo.Options{})
				if err != nil || len(all) != 1 || len(all[0].Components) != n {
					b.Fatal(err, len(all))
				}
			}
		})
	}
}
