package argocd_test

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

var long = flag.Bool("long", false, "the examples as a whole, not a component of each with what it requires, and every layout")

// TestExamplesBecomeHealthy rolls out with the real controllers what is generated of
// the platforms of descriptors, and the repository of Applications as it is. Nothing
// starts before everything of the earlier places is Healthy.
func TestExamplesBecomeHealthy(t *testing.T) {
	t.Parallel()
	type testCase struct {
		platform, environment string
		enabled               int
		// part is rolled out with what it requires, unless all is asked for.
		part string
	}
	cases := map[string]testCase{
		"single":      {"examples/ameide", "dev", 74, "apps-threads"},
		"app-of-apps": {"examples/zerotouch", "preview", 18, ""},
	}
	if *long {
		cases["tiers"] = testCase{"examples/ameide-tiers", "dev", 67, ""}
		whole := cases["app-of-apps"]
		whole.environment, whole.enabled = "main", 24
		cases["app-of-apps, all of it"] = whole
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			binary(t)
			t.Parallel()
			dir, least := tc.platform, tc.enabled
			if !*long && tc.part != "" {
				dir, least = fixtures.Part(t, repositoryRoot(t), tc.platform, tc.part, requirements(t, tc.platform))
			}
			// Nothing fails here; a busy machine may take its time.
			r, out := rehearsal(t, repositoryRoot(t), dir, "-e", tc.environment, "--least-timeout", "10m")
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
			if enabled < least {
				t.Errorf("%d components rolled out, want at least %d", enabled, least)
			}
		})
	}
}

// requirements is what the components of an example require.
func requirements(t *testing.T, platform string) map[string][]string {
	t.Helper()
	var p report.Plan
	out := must(t, repositoryRoot(t), "plan", platform, "-e", "dev", "--policy", "edges", "--format", "json", "--progress", "none")
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	requires := map[string][]string{}
	for _, e := range p.Edges {
		requires[e.From] = append(requires[e.From], e.To)
	}
	return requires
}
