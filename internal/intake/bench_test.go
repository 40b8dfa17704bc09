package intake_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rollout-ladder/ladder/internal/intake"
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
				p, err := intake.Open(context.Background(), dir, intake.Options{})
				if err != nil || len(p.Components) != n {
					b.Fatal(err)
				}
			}
		})
	}
}
