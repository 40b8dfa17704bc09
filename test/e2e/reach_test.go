package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/test/fixtures"
)

// TestRehearsalReachesNothingOffline rehearses a repository that names what is
// outside of it in every way that kustomize has: no program on the path and no
// server is reached, and the good component becomes Healthy.
func TestRehearsalReachesNothingOffline(t *testing.T) {
	t.Parallel()
	ownHome(t)
	trap := fixtures.NewTrap(t)
	dir := t.TempDir()
	trap.Repository(t, dir, func(form string, spelling int) bool { return spelling == 0 && (form == "http" || form == "FILE") })
	// A rehearsal is refused where kustomizations of Applications could not be read.
	if err := os.RemoveAll(filepath.Join(dir, "roots")); err != nil {
		t.Fatal(err)
	}
	give(t, "PATH="+trap.Bin)
	args := []string{"--offline", "--allow-unrendered", "--speed", "1000"}
	r, out := rehearsal(t, dir, append([]string{"."}, args...)...)
	trap.Check(t, append([]string{"rehearse"}, args...))
	if strings.Contains(out.stdout+out.stderr, "goroutine ") || strings.Contains(out.stdout+out.stderr, "hunter2") {
		t.Errorf("a stack trace or a password is shown: %.2000s", out.stderr)
	}
	if got := byName(r)["good"]; got.State != "healthy" {
		t.Errorf("good: %+v", got)
	}
}
