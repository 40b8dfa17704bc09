package e2e

import (
	"context"
	"os"
	"os/exec"
	"path"
	"sync"
	"testing"
)

// homes are the folders that tests keep planes in, by the names of the tests: side
// by side they cannot set a variable of the process.
var homes sync.Map

// ownHome gives a test, with its subtests, planes of its own, and returns the
// XDG_STATE_HOME of the commands that it starts.
func ownHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	homes.Store(t.Name(), home)
	t.Cleanup(func() { downAll(t) })
	return home
}

// environment is that of the commands of a test.
func environment(t *testing.T) []string {
	t.Helper()
	for name := t.Name(); name != "."; name = path.Dir(name) {
		if home, ok := homes.Load(name); ok {
			// The summary of a job is one of the files that a command leaves.
			return append(os.Environ(), "XDG_STATE_HOME="+home.(string), "GITHUB_STEP_SUMMARY="+path.Join(home.(string), "summary.md"))
		}
	}
	return os.Environ()
}

// command is a ladder command of a test in a folder. It may outlive the context of
// the test, which its clean-up does.
func command(ctx context.Context, t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, ladderBinary(t), args...)
	cmd.Dir, cmd.Env = dir, environment(t)
	return cmd
}

// downAll takes the planes of a test down.
func downAll(t *testing.T) {
	t.Helper()
	// The context of the test has ended when its clean-up runs.
	if out, err := command(context.Background(), t, "", "plane", "down", "--all").CombinedOutput(); err != nil {
		t.Errorf("take the planes down: %v\n%s", err, out)
	}
}
