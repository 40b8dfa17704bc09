package argocd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// built is the binary of the real Argo CD: LADDER_ARGOCD, else bin/ladder-argocd where
// that exists.
func built() (path string, ok bool) {
	if path = os.Getenv("LADDER_ARGOCD"); path != "" {
		return path, true
	}
	path = filepath.Join("..", "..", "bin", "ladder-argocd")
	_, err := os.Stat(path)
	return path, err == nil
}

// binary is built, as an absolute path. Without it the test is skipped.
func binary(t *testing.T) string {
	t.Helper()
	path, ok := built()
	if !ok {
		t.Skip("the real Argo CD is not built: make argocd")
	}
	if testing.Short() {
		t.Skip("rehearsals on the real Argo CD take minutes")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
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

// outcome is what one run of the command gave.
type outcome struct {
	code           int
	stdout, stderr string
}

// ladder runs the command to its end in a folder.
func ladder(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), planetest.Binary(t), args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs the command, which must succeed.
func must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out := ladder(t, dir, args...)
	if out.code != 0 {
		t.Fatalf("ladder %v: exit code %d\n%s\n%s", args, out.code, out.stdout, out.stderr)
	}
	return out.stdout
}

// rehearsal rehearses on the real Argo CD and reads the report. No rehearsal may
// take longer than it is given here, whatever becomes of it.
func rehearsal(t *testing.T, dir string, args ...string) (report.Rollout, outcome) {
	t.Helper()
	started := time.Now()
	out := ladder(t, dir, append([]string{
		"rehearse", "--engine", "argocd", "--argocd-binary", binary(t), "--format", "json", "--progress", "none", "--timeout", "20m",
	}, args...)...)
	var r report.Rollout
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		t.Fatalf("exit code %d, no report: %v\n%s\n%s", out.code, err, out.stdout, out.stderr)
	}
	t.Logf("%s after %s, the rollout %.1f s", r.Result, time.Since(started).Round(100*time.Millisecond), r.MakespanSeconds)
	if r.Engine != "argocd" || !strings.HasPrefix(r.EngineVersion, "v3.") || len(r.Revision) != 40 {
		t.Errorf("engine %q %q, revision %q", r.Engine, r.EngineVersion, r.Revision)
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

// wantHealthy fails unless the rehearsal succeeded with every enabled component
// Healthy and with all its times.
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

// early lists the components that started although one of an earlier place was
// not Healthy, by what the report tells of the starts. Where Argo CD took the
// health before a sync for that after it, or what it has passed is not Healthy any
// more, that is its own, and logged.
func early(t *testing.T, r report.Rollout) []string {
	t.Helper()
	var names []string
	for _, tr := range r.Transitions {
		switch {
		case strings.Contains(tr.Reason, "; started although"), strings.HasPrefix(tr.Reason, "started although"):
			names = append(names, tr.Component+": "+tr.Reason)
		case strings.Contains(tr.Reason, "Argo CD took the health"), strings.Contains(tr.Reason, "Argo CD does not look back"):
			t.Logf("%s: %s", tr.Component, tr.Reason)
		}
	}
	return names
}
