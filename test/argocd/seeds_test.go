package argocd_test

import (
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/test/fixtures"
)

// TestSeedsAsWritten rehearses on the real Argo CD what the design documents print: the steps of
// the single ladder, and the waves of four sets under their parent.
func TestSeedsAsWritten(t *testing.T) {
	t.Parallel()
	for script, components := range map[string]int{"seed_000_target": 24, "seed_001_3_waves": 62} {
		t.Run(script, func(t *testing.T) {
			binary(t)
			t.Parallel()
			r, out := rehearsal(t, fixtures.Script(t, repositoryRoot(t), script, "platform"), "--offline", "--least-timeout", "10m")
			wantHealthy(t, r, out)
			if len(r.Components) != components {
				t.Errorf("%d components, want %d", len(r.Components), components)
			}
			if names := early(t, r); len(names) > 0 {
				t.Errorf("started too early:\n%s", strings.Join(names, "\n"))
			}
		})
	}
}
