package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane/argocd/snapshot"
)

// run runs git in a folder.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// content are the files of a snapshot, links as "-> target".
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(run(t, dir, "ls-tree", "-r", "-z", "HEAD")), "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		fields := strings.Fields(meta)
		text := run(t, dir, "cat-file", "blob", fields[2])
		if fields[0] == "120000" {
			text = "-> " + text
		}
		files[name] = text
	}
	return files
}

func TestWorkTreeAsItIs(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret": "not of the tree"})
	write(t, top, map[string]string{
		".gitignore": "ignored\n", "ignored": "x", "committed": "old", "gone": "x",
		"folder/a b.yaml": "a: b\n", "old/generated.yaml": "stale", "replaced.yaml": "own",
	})
	run(t, top, "init", "-q")
	run(t, top, "add", "-A")
	run(t, top, "commit", "-qm", "x")
	write(t, top, map[string]string{"committed": "new", "untracked": "here"})
	if err := os.Remove(filepath.Join(top, "gone")); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"inside": "folder/a b.yaml", "absolute": filepath.Join(outside, "secret"),
		"escapes": "../" + filepath.Base(outside) + "/secret", "dangling": "nothing",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "snapshot")
	s, err := snapshot.Make(t.Context(), snapshot.Options{
		Top: top, Dir: dir, Without: []string{"old"},
		Add: []snapshot.File{{Path: "replaced.yaml", Content: []byte("added")}, {Path: "new/x.yaml", Content: []byte("x")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".gitignore": "ignored\n", "committed": "new", "untracked": "here", "folder/a b.yaml": "a: b\n",
		"replaced.yaml": "added", "new/x.yaml": "x", "inside": "-> folder/a b.yaml",
	}
	if diff := cmp.Diff(want, content(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"absolute", "dangling", "escapes"}, s.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if head := strings.TrimSpace(run(t, dir, "rev-parse", "HEAD")); head != s.Revision || len(head) != 40 {
		t.Errorf("revision %q, HEAD %q", s.Revision, head)
	}
	if status := run(t, top, "log", "--oneline", "--all"); strings.Count(status, "\n") != 1 {
		t.Errorf("the repository itself has changed:\n%s", status)
	}
}

// A folder behind a link is not the tree's, also where git says that the files
// below it were committed when it still was a folder.
func TestFolderThatBecameALink(t *testing.T) {
	top, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"x.yaml": "not of the tree"})
	write(t, top, map[string]string{"folder/x.yaml": "committed"})
	run(t, top, "init", "-q")
	run(t, top, "add", "-A")
	run(t, top, "commit", "-qm", "x")
	if err := os.RemoveAll(filepath.Join(top, "folder")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(top, "folder")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "snapshot")
	if _, err := snapshot.Make(t.Context(), snapshot.Options{Top: top, Dir: dir, Add: []snapshot.File{{Path: "a", Content: []byte("a")}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "a"}, content(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestAddresses(t *testing.T) {
	const own = "https://git.example.org/acme/platform"
	cases := map[string]struct{ file, text, want string }{
		"of an Application": {
			"app.yaml", "repoURL: " + own + ".git\ntargetRevision: main\n", "repoURL: HERE\ntargetRevision: main\n",
		},
		"in JSON":               {"app.json", `{"repoURL":"` + own + `"}`, `{"repoURL":"HERE"}`},
		"scp-like":              {"app.yml", "repoURL: git@git.example.org:acme/platform.git\n", "repoURL: HERE\n"},
		"of a sentence":         {"app.yaml", "# it lives at " + own + ".\n", "# it lives at HERE.\n"},
		"of another repository": {"app.yaml", "repoURL: " + own + "-charts.git\n", "repoURL: " + own + "-charts.git\n"},
		"of a page":             {"app.yaml", "see: " + own + "/blob/main/x.md\n", "see: " + own + "/blob/main/x.md\n"},
		"no manifest":           {"README.md", own, own},
		"pattern of a project, one per line": {
			"project.yaml", "kind: AppProject\nspec:\n  sourceRepos:\n    - https://git.example.org/acme/*\n    - https://other.example.org/*\n",
			"kind: AppProject\nspec:\n  sourceRepos:\n    - https://git.example.org/acme/*\n    - HERE\n    - https://other.example.org/*\n",
		},
		"pattern of a project, in one line": {
			"project.yaml", "kind: AppProject\nspec: {sourceRepos: ['https://git.example.org/acme/*', x]}\n",
			"kind: AppProject\nspec: {sourceRepos: ['https://git.example.org/acme/*', 'HERE', x]}\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			top, dir := t.TempDir(), filepath.Join(t.TempDir(), "snapshot")
			write(t, top, map[string]string{tc.file: tc.text})
			s, err := snapshot.Make(t.Context(), snapshot.Options{
				Top: top, Dir: dir, OwnWritten: []string{own + ".git"},
				Own: func(a string) bool {
					return strings.TrimSuffix(a, ".git") == own || a == "git@git.example.org:acme/platform.git"
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(tc.want, "HERE", s.Address)
			if diff := cmp.Diff(want, content(t, dir)[tc.file]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if changed := len(s.Rewritten) == 1; changed != (tc.text != want) {
				t.Errorf("rewritten: %v", s.Rewritten)
			}
		})
	}
}

// The commit is found under every revision that the files name.
func TestRevisions(t *testing.T) {
	top, dir := t.TempDir(), filepath.Join(t.TempDir(), "snapshot")
	write(t, top, map[string]string{
		"a.yaml": "repoURL: own\nsee: https://own.example.org\ntargetRevision: release/2\n",
		"b.yaml": "see: https://own.example.org\nrevision: \"v1.2.3\"\nx: {targetRevision: HEAD}\ny: {targetRevision: release}\n",
		"c.yaml": "see: https://own.example.org\ntargetRevision: ../evil\n",
	})
	s, err := snapshot.Make(t.Context(), snapshot.Options{Top: top, Dir: dir, Own: func(a string) bool { return a == "https://own.example.org" }})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(run(t, dir, "for-each-ref", "--format=%(refname:short) %(objectname)"))
	want := []string{"main", s.Revision, "release", s.Revision, "v1.2.3", s.Revision}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSameFilesSameCommit(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{"a": "1", "b/c": "2"})
	var revisions []string
	for range 2 {
		s, err := snapshot.Make(t.Context(), snapshot.Options{Top: top, Dir: filepath.Join(t.TempDir(), "s")})
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, s.Revision)
	}
	if revisions[0] != revisions[1] {
		t.Error(revisions)
	}
}

func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := snapshot.Make(t.Context(), snapshot.Options{Top: t.TempDir(), Dir: filepath.Join(t.TempDir(), "s")})
	if err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("error %v", err)
	}
}

// TestBrokenGitFolder: what is left of a repository is in no commit, nor is the file that points from a
// submodule to its own.
func TestBrokenGitFolder(t *testing.T) {
	top := filepath.Join(t.TempDir(), ".git")
	write(t, top, map[string]string{".git/HEAD": "ref: refs/heads/main\n", "sub/.git": "gitdir: ../.git/modules/sub\n", "sub/a.yaml": "a: b\n"})
	dir := filepath.Join(t.TempDir(), "snapshot")
	if _, err := snapshot.Make(t.Context(), snapshot.Options{Top: top, Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"sub/a.yaml": "a: b\n"}, content(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	run(t, t.TempDir(), "clone", "-q", dir, "clone") // who checks it out has no complaint
}
