package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// outcome is what one run of the command gave.
type outcome struct {
	code           int
	stdout, stderr string
}

// ladder runs the command to its end in a folder.
func ladder(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	cmd := command(t.Context(), t, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// repositoryRoot is the top of this repository.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// rehearsal runs `ladder rehearse` and reads its report.
func rehearsal(t *testing.T, dir string, args ...string) (report.Rollout, outcome) {
	t.Helper()
	out := ladder(t, dir, append([]string{"rehearse", "--format", "json", "--progress", "none"}, args...)...)
	var r report.Rollout
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		t.Fatalf("exit code %d, no report: %v\n%s\n%s", out.code, err, out.stdout, out.stderr)
	}
	return r, out
}

// byName indexes the components of a report.
func byName(r report.Rollout) map[string]report.RolloutComponent {
	m := map[string]report.RolloutComponent{}
	for _, c := range r.Components {
		m[c.Name] = c
	}
	return m
}

// wantHealthy fails unless the rehearsal succeeded with every enabled
// component Healthy and with all its times.
func wantHealthy(t *testing.T, r report.Rollout, out outcome) {
	t.Helper()
	if out.code != 0 || r.Result != "succeeded" {
		t.Errorf("exit code %d, result %q, want 0 and succeeded", out.code, r.Result)
	}
	for _, c := range r.Components {
		if c.State == "skipped" {
			continue
		}
		if c.State != "healthy" {
			t.Errorf("%s (%s) is %s: %s %s %v", c.Name, c.Phase, c.State, c.Object, c.Message, c.BlockedBy)
			continue
		}
		unblocked, started, synced, healthy := time.Time(c.UnblockedAt), time.Time(c.StartedAt), time.Time(c.SyncedAt), time.Time(c.HealthyAt)
		if unblocked.IsZero() || started.Before(unblocked) || synced.Before(started) || healthy.Before(synced) {
			t.Errorf("%s: unblocked %s, started %s, synced %s, healthy %s are not in order", c.Name, c.UnblockedAt, c.StartedAt, c.SyncedAt, c.HealthyAt)
		}
	}
}

// wantPhaseOrder fails where a component started before one of an earlier
// place was Healthy. less orders places.
func wantPhaseOrder(t *testing.T, r report.Rollout) {
	t.Helper()
	var latest time.Time // Healthy of all earlier places
	var current time.Time
	place := ""
	for _, c := range r.Components { // in the order of the ladder
		if c.State != "healthy" {
			continue
		}
		if c.Phase != place {
			place = c.Phase
			if current.After(latest) {
				latest = current
			}
		}
		if started := time.Time(c.StartedAt); started.Before(latest) {
			t.Errorf("%s (%s) started at %s, before the earlier phases were Healthy at %s", c.Name, c.Phase, c.StartedAt, report.Time(latest))
		}
		if healthy := time.Time(c.HealthyAt); healthy.After(current) {
			current = healthy
		}
	}
}

func TestExamplesRollOut(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		platform string
		args     []string
		// enabled is the number of components that roll out.
		enabled int
		ordered bool
		// long are those that differ little from another.
		long bool
	}{
		"ameide dev":        {"examples/ameide", []string{"-e", "dev"}, 74, true, false},
		"ameide staging":    {"examples/ameide", []string{"-e", "staging"}, 73, true, true},
		"ameide prod":       {"examples/ameide", []string{"-e", "prod"}, 73, true, true},
		"ameide edges":      {"examples/ameide", []string{"-e", "dev", "--policy", "edges"}, 74, false, true}, // a part: rehearseUndisturbed
		"ameide serial":     {"examples/ameide", []string{"-e", "dev", "--policy", "serial", "--speed", "600"}, 74, true, true},
		"ameide tiers":      {"examples/ameide-tiers", []string{"-e", "dev"}, 67, true, true},
		"zerotouch main":    {"examples/zerotouch", []string{"-e", "main"}, 24, true, true}, // TestRolloutOfAPlatform of test/cluster rolls it out too
		"zerotouch preview": {"examples/zerotouch", []string{"-e", "preview"}, 18, true, true},
	}
	for name, tc := range cases {
		if tc.long && !*long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, out := rehearsal(t, repositoryRoot(t), append([]string{tc.platform}, tc.args...)...)
			wantHealthy(t, r, out)
			if tc.ordered {
				wantPhaseOrder(t, r)
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

// blastRadius asks the plan what cannot become Healthy without a component.
func blastRadius(t *testing.T, platform, component string) []string {
	t.Helper()
	out := ladder(t, platform, "explain", component, ".", "-e", "dev", "--format", "json", "--progress", "none")
	var e report.Explanation
	if err := json.Unmarshal([]byte(out.stdout), &e); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.stdout, out.stderr)
	}
	return e.BlastRadius
}
