package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// TestRolloutOfAPlatform rolls a whole example out again over what a rehearsal has
// left: nothing changes, and then what is changed in the repository.
func TestRolloutOfAPlatform(t *testing.T) {
	s := newSite(t, 0)
	must(t, os.CopyFS(s.repo, os.DirFS(filepath.Join("..", "..", "examples", "zerotouch"))))
	home := t.TempDir()
	rehearse := s.command("rehearse", s.repo, "-e", "main", "--plane", "platform", "--progress", "none", "--format", "json")
	rehearse.Args = rehearse.Args[:len(rehearse.Args)-2] // it has a plane of its own
	rehearse.Env = append(rehearse.Env, "XDG_STATE_HOME="+home)
	t.Cleanup(func() {
		down := s.command("plane", "down", "--all")
		down.Args, down.Env = down.Args[:len(down.Args)-2], rehearse.Env
		_ = down.Run()
	})
	out, err := rehearse.Output()
	must(t, err)
	var rehearsed report.Rollout
	must(t, json.Unmarshal(out, &rehearsed))
	wantHealthy(t, rehearsed)

	s.access = filepath.Join(home, "ladder", "planes", "platform", "plane", "kubeconfig")
	rollout := []string{"rollout", s.repo, "-e", "main", "--progress", "none", "--format", "json"}
	preview := func(want string) {
		t.Helper()
		r := s.ladder("rollout", s.repo, "-e", "main", "--dry-run", "--progress", "none")
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("dry run, exit code %d: %s\n%s", r.code, r.stdout, r.stderr)
		}
	}
	roll := func() {
		t.Helper()
		r := s.ladder(rollout...)
		again := s.report(r)
		if r.code != 0 {
			t.Errorf("exit code %d: %s", r.code, r.stderr)
		}
		wantHealthy(t, again)
	}
	preview("0 objects are created, 0 changed, 0 deleted")
	roll()
	preview("0 objects are created, 0 changed, 0 deleted")

	values := filepath.Join(s.repo, "platform", "messaging", "nats", "values.yaml")
	text, err := os.ReadFile(values)
	must(t, err)
	changed := strings.Replace(string(text), "maxSize: 256Mi", "maxSize: 512Mi", 1)
	if changed == string(text) {
		t.Fatalf("there is nothing to change in %s", values)
	}
	must(t, os.WriteFile(values, []byte(changed), 0o644))
	preview("23 of 24 components stay as they are")
	roll()
	preview("0 objects are created, 0 changed, 0 deleted")
}

// wantHealthy fails unless everything that is enabled in examples/zerotouch is Healthy.
func wantHealthy(t *testing.T, r report.Rollout) {
	t.Helper()
	healthy := 0
	for _, c := range r.Components {
		switch c.State {
		case "healthy":
			healthy++
		case "skipped":
		default:
			t.Errorf("%s is %s: %s %s", c.Name, c.State, c.Object, c.Message)
		}
	}
	if r.Result != "succeeded" || healthy < 24 {
		t.Errorf("%s, %d components are Healthy, want 24", r.Result, healthy)
	}
}
