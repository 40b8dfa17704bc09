package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/test/fixtures"
)

// TestSeed001ConsumerBeforeProducer holds that all commands read one order of the parent and
// the sets that seed 001 has somebody write (sections 3 and 4.1), with --root and without:
// what reads a Secret at wave 24 comes before what provides it at wave 35, which is an error.
func TestSeed001ConsumerBeforeProducer(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join(repositoryRoot(t), "internal", "cli", "testdata", "script", "seed_001_4.1_sets_by_hand.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "platform/"); ok {
			fixtures.Write(t, dir, name, string(f.Data))
		}
	}
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
