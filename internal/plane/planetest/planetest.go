// Package planetest gives tests the built command, and planes made of it,
// without linking the control plane into test binaries.
package planetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

var built struct {
	once sync.Once
	path string
	err  error
}

// Binary is the path of the ladder command under test: LADDER_BINARY, else
// bin/ladder at the top of the module, which is built when it is not up to
// date. Test processes that run at once build it once.
func Binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		built.path, built.err = find()
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func find() (string, error) {
	if path := os.Getenv("LADDER_BINARY"); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return "", fmt.Errorf("LADDER_BINARY names %s, which is no program", path)
		}
		return path, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(bin, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	path := filepath.Join(bin, "ladder")
	run, marker := testRun(), filepath.Join(bin, ".built")
	if done, err := os.ReadFile(marker); err == nil && run != "" && string(done) == run {
		return path, nil
	}
	build := exec.Command("go", "build", "-ldflags=-w", "-o", path, "./cmd/ladder") // half the time to link
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the command under test: %w\n%s", err, out)
	}
	return path, os.WriteFile(marker, []byte(run), 0o644)
}

// testRun identifies the go command that runs this test: its process and the moment at
// which that began. All packages of one go test have the same, so that one of them builds
// the command for all; go takes 2.5 s of CPU time to find that nothing has changed. It is
// empty where something else runs the test.
func testRun() string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getppid()))
	if err != nil {
		return ""
	}
	// Source: proc_pid_stat(5): the process, its name in parentheses, 19 numbers, its start.
	before, after, _ := strings.Cut(string(stat), "(go) ")
	fields := strings.Fields(after)
	if before == "" || len(fields) < 20 {
		return ""
	}
	return before + fields[19]
}

// moduleRoot is the top of the module of the test.
func moduleRoot() (string, error) {
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(mod))), nil
}
