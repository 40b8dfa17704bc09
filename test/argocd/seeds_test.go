package argocd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

// TestSeedsAsWritten rehearses on the real Argo CD what the design documents print: as Ladder
// generates it, or by the sets that a document has somebody write.
func TestSeedsAsWritten(t *testing.T) {
	t.Parallel()
	for _, seed := range fixtures.Seeds() {
		if seed.Refused != "" {
			continue // before an engine is chosen
		}
		t.Run(seed.Name(), func(t *testing.T) {
			argo := binary(t)
			t.Parallel()
			dir := seed.Platform(t, repositoryRoot(t), func(dir string, args ...string) {
				if out := ladder(t, dir, args...); out.code != 0 {
					t.Fatalf("ladder %q: exit code %d\n%s", args, out.code, out.stderr)
				}
			})
			args := append(seed.Args(), "--least-timeout", "10m")
			for _, root := range seed.Roots {
				args = append(args, "--root", root)
			}
			if seed.RefusedByArgo != "" {
				out := ladder(t, dir, append([]string{"rehearse", "--engine", "argocd", "--argocd-binary", argo, "--progress", "none"}, args...)...)
				if out.code != 1 || !strings.Contains(out.stderr, seed.RefusedByArgo) {
					t.Errorf("exit code %d, want 1, and %q in\n%s", out.code, seed.RefusedByArgo, out.stderr)
				}
				return
			}
			r, out := rehearsal(t, dir, args...)
			wantHealthy(t, r, out)
			if len(r.Components) != seed.Components {
				t.Errorf("%d components, want %d", len(r.Components), seed.Components)
			}
			if names := early(t, r); len(names) > 0 {
				t.Errorf("started too early:\n%s", strings.Join(names, "\n"))
			}
		})
	}
}

// TestSeed001ConsumerBeforeProducer: by the parent and the sets that seed 001 has somebody write Argo CD
// starts the consumer early, and heals: its parent does not wait for the Applications of a set. The
// report names the requirement.
func TestSeed001ConsumerBeforeProducer(t *testing.T) {
	binary(t)
	t.Parallel()
	dir := fixtures.Script(t, repositoryRoot(t), "seed_001_4.1_sets_by_hand", "platform")
	r, out := rehearsal(t, dir, "--offline", "--root", "environments/dev/argocd/applications/ameide.yaml")
	wantHealthy(t, r, out)
	if len(r.Components) != 4 || !slices.ContainsFunc(r.Against, func(e report.PlanEdge) bool {
		return e.From == "data-db-migrations" && e.To == "platform-keycloak"
	}) {
		t.Errorf("%d components, against the order are %v", len(r.Components), r.Against)
	}
}
