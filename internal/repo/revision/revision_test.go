package revision

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
)

// repository is one of a test.
type repository struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repository{t, dir}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// files lists what a checkout wrote, with the contents.
func files(t *testing.T, tree *Tree) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(tree.Folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(tree.Folder, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// open opens a repository for the time of a test.
func open(t *testing.T, folder string) *Repository {
	t.Helper()
	r, err := Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func treeOf(t *testing.T, folder, name, at string) *Tree {
	t.Helper()
	r := open(t, folder)
	commit, err := r.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if at == "" {
		at = r.Prefix()
	}
	tree, err := r.checkout(t.Context(), commit, at, filepath.Join(t.TempDir(), "to"))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestCheckout(t *testing.T) {
	r := newRepo(t)
	r.write("platform/a.yaml", "one")
	r.write("platform/kept.yaml", "kept")
	r.write("shared.yaml", "shared")
	// An archive would leave this out; a checkout does not.
	r.write(".gitattributes", "platform/kept.yaml export-ignore\n")
	first := r.commit("first")
	r.write("platform/a.yaml", "two")
	r.git("mv", "shared.yaml", "common.yaml")
	r.commit("second")
	r.write("platform/a.yaml", "three, not committed")
	status := r.git("status", "--porcelain")

	for name, folder := range map[string]string{"top": r.dir, "folder": filepath.Join(r.dir, "platform")} {
		t.Run(name, func(t *testing.T) {
			tree := treeOf(t, folder, "HEAD~1", "")
			want := map[string]string{"a.yaml": "one", "kept.yaml": "kept"}
			if name == "top" {
				want = map[string]string{"platform/a.yaml": "one", "platform/kept.yaml": "kept", "shared.yaml": "shared", ".gitattributes": "platform/kept.yaml export-ignore\n"}
			}
			if diff := cmp.Diff(want, files(t, tree)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if tree.Commit.Hash != first {
				t.Errorf("commit = %s, want %s", tree.Commit.Hash, first)
			}
			if _, err := os.Stat(filepath.Join(tree.Top, ".git")); err != nil {
				t.Error("the top of the repository is not marked")
			}
		})
	}
	if after := r.git("status", "--porcelain"); after != status {
		t.Errorf("the work tree changed: %q, was %q", after, status)
	}
	if trees := r.git("worktree", "list"); strings.Count(trees, "\n") > 0 {
		t.Errorf("work trees: %s", trees)
	}

	// What a hook sets for its git is not for ours.
	t.Run("hook", func(t *testing.T) {
		t.Setenv("GIT_DIR", "/nowhere")
		t.Setenv("GIT_INDEX_FILE", "/nowhere/index")
		if got := files(t, treeOf(t, r.dir, "main", "platform"))["a.yaml"]; got != "two" {
			t.Errorf("a.yaml = %q", got)
		}
	})
	t.Run("bare", func(t *testing.T) {
		bare := filepath.Join(t.TempDir(), "bare.git")
		r.git("clone", "-q", "--bare", r.dir, bare)
		if got := files(t, treeOf(t, bare, "main", "platform"))["a.yaml"]; got != "two" {
			t.Errorf("a.yaml = %q", got)
		}
	})
}

func TestSubmodules(t *testing.T) {
	library, r := newRepo(t), newRepo(t)
	library.write("chart.yaml", "v1")
	hash := library.commit("chart")
	r.write("a.yaml", "a")
	r.git("submodule", "--quiet", "add", library.dir, "vendor/library")
	r.commit("with a submodule")

	want := map[string]string{"a.yaml": "a", ".gitmodules": "", "vendor/library/chart.yaml": "v1"}
	tree := treeOf(t, r.dir, "HEAD", "")
	got := files(t, tree)
	got[".gitmodules"] = ""
	if diff := cmp.Diff(want, got); diff != "" || len(tree.Missing) != 0 {
		t.Errorf("missing %v, files (-want +got):\n%s", tree.Missing, diff)
	}

	clone := filepath.Join(t.TempDir(), "clone")
	r.git("clone", "-q", r.dir, clone)
	tree = treeOf(t, clone, "HEAD", "")
	if diff := cmp.Diff([]Submodule{{Path: "vendor/library", Commit: hash}}, tree.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

// What is fetched from the host of the repository is fetched for a revision as well.
func TestRemembersItsOrigin(t *testing.T) {
	r := newRepo(t)
	r.write("a.yaml", "a")
	r.commit("first")
	r.git("remote", "add", "origin", "https://bot:hunter2@git.internal/a.git")
	here, err := checkout.Read(treeOf(t, r.dir, "HEAD", "").Top)
	if want := "https://git.internal/a.git"; err != nil || here.URL != want {
		t.Errorf("%q, %v, not %q", here.URL, err, want)
	}
}

// A tree that git would not write: a path that leads out of it, or into .git.
func TestPathsThatLeaveTheTree(t *testing.T) {
	for _, path := range []string{"..", ".git", ".GIT"} {
		r := newRepo(t)
		r.write("a.yaml", "a")
		r.commit("first")
		tree := r.git("rev-parse", "HEAD^{tree}")
		blob := r.git("rev-parse", "HEAD:a.yaml")
		for _, line := range []string{"040000 tree " + tree + "\t" + path, "100644 blob " + blob + "\t" + path} {
			cmd := exec.Command("git", "mktree")
			cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(line+"\n")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			commit := r.git("commit-tree", "-m", "evil", strings.TrimSpace(string(out)))
			to := filepath.Join(t.TempDir(), "to")
			if _, err := open(t, r.dir).checkout(t.Context(), Commit{Hash: commit}, "", to); err == nil {
				t.Errorf("%s: written", line)
			}
			if _, err := os.Stat(filepath.Join(to, "a.yaml")); err == nil {
				t.Errorf("%s: written outside", line)
			}
		}
	}
}

// A file whose folder is a link in the same tree is not written through it.
func TestLinkThatIsAFolderToo(t *testing.T) {
	r := newRepo(t)
	r.write("a.yaml", "a")
	r.commit("first")
	outside := t.TempDir()
	target := exec.Command("git", "hash-object", "-w", "--stdin")
	target.Dir, target.Stdin = r.dir, strings.NewReader(outside)
	hash, err := target.Output()
	if err != nil {
		t.Fatal(err)
	}
	tree := exec.Command("git", "mktree")
	tree.Dir = r.dir
	tree.Stdin = strings.NewReader("120000 blob " + strings.TrimSpace(string(hash)) + "\tx\n040000 tree " + r.git("rev-parse", "HEAD^{tree}") + "\tx\n")
	out, err := tree.Output()
	if err != nil {
		t.Fatal(err)
	}
	commit := r.git("commit-tree", "-m", "evil", strings.TrimSpace(string(out)))
	if _, err := open(t, r.dir).checkout(t.Context(), Commit{Hash: commit}, "", filepath.Join(t.TempDir(), "to")); err == nil {
		t.Error("written")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestErrors(t *testing.T) {
	r := newRepo(t)
	r.write("a.yaml", "a")
	r.commit("first")
	ctx := context.Background()
	opened := open(t, r.dir)
	for _, name := range []string{"", "nothing", "--all", "HEAD~7", "HEAD:a.yaml"} {
		if _, err := opened.Find(ctx, name); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", name, err)
		}
	}
	head, err := opened.Find(ctx, "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"gone", "../..", "a.yaml"} {
		var input *repo.InputError
		if _, err := opened.checkout(ctx, head, folder, filepath.Join(t.TempDir(), "to")); !errors.As(err, &input) {
			t.Errorf("folder %s: %v", folder, err)
		}
	}
	copied := t.TempDir()
	if err := os.WriteFile(filepath.Join(copied, ".git"), []byte("gitdir: /nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{filepath.Join(r.dir, "gone"), t.TempDir(), copied} {
		var input *repo.InputError
		if _, err := Open(ctx, folder); !errors.As(err, &input) {
			t.Errorf("open %s: %v", folder, err)
		}
	}
}
