package argocd_test

import (
	"strings"
	"testing"
)

// TestExamplesBecomeHealthy rolls out with the real controllers what is generated of
// the platforms of descriptors, and the repository of Applications as it is. Nothing
// starts before everything of the earlier places is Healthy.
func TestExamplesBecomeHealthy(t *testing.T) {
	cases := map[string]struct {
		platform, environment string
		enabled               int
	}{
		"single":      {"examples/ameide", "dev", 74},
		"tiers":       {"examples/ameide-tiers", "dev", 64},
		"app-of-apps": {"examples/zerotouch", "main", 24},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			binary(t)
			t.Parallel()
			// Nothing fails here; a busy machine may take its time.
			r, out := rehearsal(t, repositoryRoot(t), tc.platform, "-e", tc.environment, "--least-timeout", "10m")
			wantHealthy(t, r, out)
			if names := early(t, r); len(names) > 0 {
				t.Errorf("started too early:\n%s", strings.Join(names, "\n"))
			}
			enabled := 0
			for _, c := range r.Components {
				if c.State != "skipped" {
					enabled++
				}
			}
			if enabled < tc.enabled {
				t.Errorf("%d components rolled out, want at least %d", enabled, tc.enabled)
			}
		})
	}
}
