package repofs

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestSubmodules: they are named from the top of the repository; a file that is none, or that is
// elsewhere, names none and is not waited for.
func TestSubmodules(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "platform")
	for _, dir := range []string{filepath.Join(top, ".git"), root} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tree := func() *Tree {
		t.Helper()
		tree, err := Discover(root)
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	file := filepath.Join(top, ".gitmodules")
	if err := os.WriteFile(file, []byte("[submodule \"a\"]\n\tpath = platform/a\n\turl = x\n[submodule \"b\"]\n\tpath = \"b\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tree().Submodules(); !slices.Equal(got, []string{"a", "../b"}) {
		t.Errorf("submodules %q", got)
	}
	for p, want := range map[string]string{"a": "a", "a/x.yaml": "a", "ab": "", "../b/c": "../b"} {
		if got := tree().Submodule(p); got != want {
			t.Errorf("%s lies in %q, want %q", p, got, want)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{pipe, "/dev/zero"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, file); err != nil {
			t.Fatal(err)
		}
		if got := tree().Submodules(); got != nil {
			t.Errorf("%s: submodules %q", target, got)
		}
	}
}
