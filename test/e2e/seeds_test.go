package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/test/fixtures"
)

// TestSeed001ConsumerBeforeProducer holds that all commands read one order of the parent and
// the sets that seed 001 has somebody write (sections 3 and 4.1), with --root and without:
// what reads a Secret at wave 24 comes before what provides it at wave 35, which is an error.
func TestSeed001ConsumerBeforeProducer(t *testing.T) {
	t.Parallel()
	dir := fixtures.Script(t, repositoryRoot(t), "seed_001_4.1_sets_by_hand", "platform")
	for name, root := range map[string][]string{
		"descriptors": nil,
		"root":        {"--root", "environments/dev/argocd/applications/ameide.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, test := range []struct {
				command string
				code    int
				want    string
			}{
				{"lint", 1, "reads Secret ameide/keycloak-db, but platform-keycloak comes later"},
				{"plan", 1, "✕ data-db-migrations comes before platform-keycloak, which it requires: reads Secret ameide/keycloak-db"},
				{"inventory", 0, "| 3 | 024 | 1 |  |\n| 4 | 035 | 1 |  |"},
			} {
				out := ladder(t, dir, append([]string{test.command, "--offline"}, root...)...)
				if out.code != test.code || !strings.Contains(out.stdout, test.want) {
					t.Errorf("ladder %s: exit code %d, want %d, and %q in\n%s\n%s", test.command, out.code, test.code, test.want, out.stdout, out.stderr)
				}
			}
			r, out := rehearsal(t, dir, append([]string{"--offline"}, root...)...)
			states := byName(r)
			consumer, provider := states["data-db-migrations"], states["platform-keycloak"]
			if out.code != 1 || consumer.State != "timed-out" || !strings.Contains(consumer.Message, `secret "keycloak-db" not found`) || provider.State != "blocked" {
				t.Errorf("ladder rehearse: exit code %d; the consumer is %s (%s), the provider %s", out.code, consumer.State, consumer.Message, provider.State)
			}
			if len(r.Against) != 1 || r.Against[0].From != "data-db-migrations" || r.Against[0].To != "platform-keycloak" {
				t.Errorf("ladder rehearse: against the order are %v", r.Against)
			}
		})
	}
}

// TestSeedsAsWritten rehearses what the design documents print. What stands against the order is
// told where nothing fails by it, and what the API server would refuse starts nothing.
func TestSeedsAsWritten(t *testing.T) {
	t.Parallel()
	for _, seed := range fixtures.Seeds() {
		t.Run(seed.Name(), func(t *testing.T) {
			t.Parallel()
			dir := seed.Platform(t, repositoryRoot(t), func(dir string, args ...string) {
				if out := ladder(t, dir, args...); out.code != 0 {
					t.Fatalf("ladder %q: exit code %d\n%s", args, out.code, out.stderr)
				}
			})
			if seed.Refused != "" {
				out := ladder(t, dir, append([]string{"rehearse", "--progress", "none"}, seed.Args()...)...)
				if out.code != 2 || !strings.Contains(out.stderr, seed.Refused) {
					t.Errorf("exit code %d, want 2, and %q in\n%s", out.code, seed.Refused, out.stderr)
				}
				return
			}
			r, out := rehearsal(t, dir, seed.Args()...)
			wantHealthy(t, r, out)
			if len(r.Components) != seed.Components {
				t.Errorf("%d components, want %d", len(r.Components), seed.Components)
			}
			var against []string
			for _, e := range r.Against {
				against = append(against, e.From+" "+e.To)
			}
			slices.Sort(against)
			if !slices.Equal(against, seed.Against) {
				t.Errorf("against the order are %q, want %q", against, seed.Against)
			}
		})
	}
}
