package plane

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

func TestSweep(t *testing.T) {
	root := t.TempDir()
	folder := func(name string) string {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, child.LockFile), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dead, living, foreign := folder(throwawayPrefix+"1"), folder(throwawayPrefix+"2"), folder("something-else")
	lock, err := acquire(t.Context(), filepath.Join(living, child.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()

	exists := func(path string) bool {
		_, err := os.Stat(path)
		return !errors.Is(err, os.ErrNotExist)
	}
	sweep(root, time.Now())
	if !exists(dead) {
		t.Error("a folder that is just being made was removed")
	}
	sweep(root, time.Now().Add(2*sweepAge))
	if exists(dead) {
		t.Error("the folder of a dead plane is still there")
	}
	if !exists(living) || !exists(foreign) {
		t.Errorf("living plane kept: %v, other folder kept: %v", exists(living), exists(foreign))
	}
}

// TestSweepWaitsForNobody sweeps where another user of the machine has put a folder
// like those of planes, with a pipe for a lock, which whoever opens it waits for.
func TestSweepWaitsForNobody(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, throwawayPrefix+"1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, child.LockFile), 0o600); err != nil {
		t.Fatal(err)
	}
	const other = 65534
	theirs := os.Getuid() == 0 && os.Chown(dir, other, other) == nil // only root can make it theirs
	done := make(chan struct{})
	go func() {
		sweep(root, time.Now().Add(2*sweepAge))
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the sweep waits for whoever writes into the pipe")
	}
	if _, err := os.Stat(dir); theirs && err != nil {
		t.Errorf("the folder of another user was removed: %v", err)
	}
}

func TestLookingAtALockTakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if held(path) {
		t.Error("a missing lock is held")
	}
	lock, err := acquire(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !held(path) {
			t.Error("a held lock looks free")
		}
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if held(path) {
		t.Error("a free lock looks held")
	}
}
