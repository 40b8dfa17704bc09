package generatecmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/argocd/generate"
)

// writeForever has the test binary write a folder again and again.
const writeForever = "LADDER_TEST_WRITE_FOREVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writeForever); dir != "" {
		for i := 0; ; i++ {
			if err := put(dir, versions()[i%2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(i)
		}
	}
	os.Exit(m.Run())
}

// versions are two contents of a folder that have most files in common.
func versions() [2]map[string]string {
	var out [2]map[string]string
	for v := range out {
		out[v] = map[string]string{}
		for i := range 20 {
			out[v][fmt.Sprintf("applications/a%02d.yaml", i+v)] = fmt.Sprintf("version: %d\nfile: %d\n", v, i)
		}
	}
	return out
}

func made(dir string, files map[string]string) *generated {
	g := &generated{environment: "dev", dir: dir, shown: "argocd/dev", result: &generate.Result{Folder: "argocd/dev", Root: "argocd/dev/root.yaml"}}
	for name, content := range files {
		g.result.Files = append(g.result.Files, generate.File{Path: "argocd/dev/" + name, Content: []byte(generate.Mark + content)})
	}
	return g
}

func put(dir string, files map[string]string) error {
	g := made(dir, files)
	if err := g.compare(); err != nil {
		return err
	}
	return g.replace()
}

// content is that of a folder, without the mark.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		out[filepath.ToSlash(rel)] = strings.TrimPrefix(string(text), generate.Mark)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKilledRunsLeaveOneVersion kills a process that writes at any moment: what
// lies there is one of the two versions, whole, with the file that is somebody
// else's.
func TestKilledRunsLeaveOneVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "argocd", "dev")
	if err := put(dir, versions()[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.md"), []byte("Mine."), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for round := range 30 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), writeForever+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It writes when it says so; a moment later it is somewhere inside.
		if _, err := fmt.Fscanln(out, new(int)); err != nil {
			t.Fatal(err)
		}
		timer := time.NewTimer(time.Duration(round) * 317 * time.Microsecond)
		<-timer.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		got := content(t, dir)
		if got["mine.md"] != "Mine." {
			t.Fatalf("round %d: the file of somebody else is %q", round, got["mine.md"])
		}
		delete(got, "mine.md")
		version := -1
		for v, want := range versions() {
			if cmp.Equal(want, got) {
				version = v
			}
		}
		if version < 0 {
			t.Fatalf("round %d: neither version: %v", round, got)
		}
		seen[version] = true
	}
	if err := put(dir, map[string]string{"last.yaml": "last\n"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"last.yaml": "last\n", "mine.md": "Mine."}, content(t, dir)); diff != "" {
		t.Error(diff)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder above has %v, %v", left, err)
	}
	if len(seen) == 0 {
		t.Error("nothing was seen")
	}
}

// TestRunsAtOnceLeaveOneVersion: what a run has not finished is nothing that another one
// left behind.
func TestRunsAtOnceLeaveOneVersion(t *testing.T) {
	for range 50 {
		dir := filepath.Join(t.TempDir(), "argocd", "dev")
		var runs sync.WaitGroup
		for i := range 8 {
			runs.Go(func() {
				if err := put(dir, versions()[i%2]); err != nil {
					t.Error(err)
				}
			})
		}
		runs.Wait()
		got := content(t, dir)
		if !cmp.Equal(versions()[0], got) && !cmp.Equal(versions()[1], got) {
			t.Fatalf("neither version: %v", got)
		}
	}
}

// TestForeignFiles are kept as they are: links, modes, and files in folders that
// nothing is generated into any more.
func TestForeignFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dev")
	if err := put(dir, map[string]string{"smokes/a/smoke.yaml": "a\n"}); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "smokes", "a", "run.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/run.sh", filepath.Join(dir, "smokes", "link")); err != nil {
		t.Fatal(err)
	}
	if err := put(dir, map[string]string{"root.yaml": "r\n"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(script)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the script is %v, %v", info, err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "smokes", "link")); err != nil || to != "a/run.sh" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "smokes", "a", "smoke.yaml")); !os.IsNotExist(err) {
		t.Errorf("what is no longer generated is there: %v", err)
	}
}

// TestSecretsAreNotShown in the diff of a file that somebody filled in.
func TestSecretsAreNotShown(t *testing.T) {
	g := made(t.TempDir(), nil)
	before := generate.Mark + "kind: Secret\nstringData:\n  password: hunter2\n"
	if diff := g.diff(change{path: "settings/repository.yaml", state: stale, before: []byte(before), after: []byte("x")}, g.shown); diff != "" {
		t.Errorf("shown: %s", diff)
	}
}

// TestWhatIsNoFile: what a repository has in the place of a generated file is not waited
// for, not read without end, and not followed out of the repository.
func TestWhatIsNoFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(generate.Mark), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, place := range map[string]func(string) error{
		"a pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a device": func(name string) error { return os.Symlink("/dev/zero", name) },
		"a link":   func(name string) error { return os.Symlink(outside, name) },
		"a very long file": func(name string) error {
			return errors.Join(os.WriteFile(name, []byte(generate.Mark), 0o600), os.Truncate(name, 1<<40))
		},
	} {
		t.Run(what, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), generate.RootFile)
			if err := place(name); err != nil {
				t.Fatal(err)
			}
			if text, err := readGenerated(name); err != nil || text != nil {
				t.Errorf("%d bytes, %v", len(text), err)
			}
			g := made(filepath.Dir(name), map[string]string{generate.RootFile: "x"})
			if err := g.compare(); err == nil || !strings.Contains(err.Error(), "did not write it") {
				t.Errorf("%v", err)
			}
		})
	}
}
