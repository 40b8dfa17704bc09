package e2e

import (
	"context"
	"os"
	"os/exec"
	"path"
	"sync"
	"testing"
)

// given are the variables of the commands that tests start, by the names of the
// tests: side by side they cannot set a variable of the process.
var given sync.Map

// give sets variables of the commands of a test and of its subtests.
func give(t *testing.T, variables ...string) {
	t.Helper()
	before, _ := given.Load(t.Name())
	own, _ := before.([]string)
	given.Store(t.Name(), append(own[:len(own):len(own)], variables...))
}

// ownHome gives a test, with its subtests, planes of its own, and returns the
// XDG_STATE_HOME of the commands that it starts.
func ownHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	// The summary of a job is one of the files that a command leaves.
	give(t, "XDG_STATE_HOME="+home, "GITHUB_STEP_SUMMARY="+path.Join(home, "summary.md"))
	t.Cleanup(func() { downAll(t) })
	return home
}

// environment is that of the commands of a test.
func environment(t *testing.T) []string {
	t.Helper()
	var variables []string
	for name := t.Name(); name != "."; name = path.Dir(name) {
		if own, ok := given.Load(name); ok {
			variables = append(own.([]string), variables...) // what is nearer wins
		}
	}
	return append(os.Environ(), variables...)
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
