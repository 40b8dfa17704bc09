package git_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/git"
)

// run runs the git of the machine as people do, in a folder.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := try(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// newRepository makes a repository of two commits, in the format of a hash.
func newRepository(t *testing.T, format string) string {
	t.Helper()
	if err := git.Available(); err != nil {
		t.Skip(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "init", "-q", "-b", "main", "--object-format="+format)
	write(t, dir, map[string]string{"a.yaml": "one\n", "platform/b.yaml": "b\n", ".gitignore": "ignored\n"})
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-qm", "first")
	write(t, dir, map[string]string{"a.yaml": "two\n", ".gitattributes": "* filter=evil diff=evil merge=evil eol=crlf ident\n"})
	run(t, dir, "add", "-A", "--renormalize")
	run(t, dir, "commit", "-qm", "second")
	return dir
}

// open opens a view for the time of a test.
func open(t *testing.T, dir string) *git.View {
	t.Helper()
	v, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// contents are the files of a revision.
func contents(t *testing.T, v *git.View, name string) (map[string]string, error) {
	t.Helper()
	commit, err := v.Commit(t.Context(), name)
	if err != nil {
		return nil, err
	}
	entries, err := v.Entries(t.Context(), commit)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	return files, v.Contents(t.Context(), entries, func(e git.Entry, r io.Reader) error {
		text, err := io.ReadAll(r)
		files[e.Path] = string(text)
		return err
	})
}

// programs are settings that name a program, or a file that names some.
const programs = `[core]
	fsmonitor = %[1]s
	hooksPath = %[2]s
	sshCommand = %[1]s
	pager = %[1]s
	editor = %[1]s
	askPass = %[1]s
	gitProxy = %[1]s
	alternateRefsCommand = %[1]s
	attributesFile = %[2]s/attributes
	worktree = /
[extensions]
	partialClone = origin
	worktreeConfig = true
[remote "origin"]
	url = ext::%[1]s %%S
	promisor = true
	partialCloneFilter = blob:none
	uploadpack = %[1]s
	vcs = evil
	fetch = +refs/heads/*:refs/remotes/origin/*
[protocol]
	allow = always
[diff]
	external = %[1]s
[diff "evil"]
	command = %[1]s
	textconv = %[1]s
[merge "evil"]
	driver = %[1]s
[filter "evil"]
	clean = %[1]s
	smudge = %[1]s
	process = %[1]s
	required = true
[alias]
	rev-parse = !%[1]s
	ls-tree = !%[1]s
	cat-file = !%[1]s
	ls-files = !%[1]s
[uploadpack]
	packObjectsHook = %[1]s
[credential]
	helper = !%[1]s
[gpg]
	program = %[1]s
[trace2]
	eventTarget = %[2]s/trace
[submodule "x"]
	update = !%[1]s
[pager]
	rev-parse = %[1]s
	ls-files = %[1]s
	config = %[1]s
[include]
	path = %[2]s/more
`

var hooks = []string{
	"applypatch-msg", "pre-commit", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc",
	"post-rewrite", "sendemail-validate", "update", "post-update", "pre-receive", "proc-receive",
}

// poison makes a repository run a program at every occasion, and the environment
// too. It returns the file that the program makes.
func poison(t *testing.T, dir string) (marker string) {
	t.Helper()
	evil := t.TempDir()
	marker = filepath.Join(evil, "marker")
	program := filepath.Join(evil, "program")
	write(t, evil, map[string]string{
		"program":    "#!/bin/sh\ntouch " + marker + "\nexit 1\n",
		"attributes": "* filter=evil\n",
		"more":       "[core]\n\tfsmonitor = " + program + "\n",
	})
	for _, hook := range hooks {
		write(t, dir, map[string]string{".git/hooks/" + hook: "#!/bin/sh\ntouch " + marker + "\n"})
		write(t, evil, map[string]string{hook: "#!/bin/sh\ntouch " + marker + "\n"})
	}
	config, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(programs, program, evil)
	write(t, dir, map[string]string{
		".git/config": string(config) + text, ".git/config.worktree": text,
		".git/info/attributes": "* filter=evil diff=evil\n",
		".git/info/grafts":     strings.Repeat("0", 40) + "\n",
	})
	home := t.TempDir()
	write(t, home, map[string]string{".gitconfig": text})
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_SYSTEM": filepath.Join(home, ".gitconfig"),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": program,
		"GIT_SSH_COMMAND": program, "GIT_EXTERNAL_DIFF": program, "GIT_PAGER": program, "GIT_ASKPASS": program, "GIT_PROXY_COMMAND": program,
		"GIT_TRACE2_EVENT": filepath.Join(evil, "trace"),
	} {
		t.Setenv(name, value)
	}
	return marker
}

// ran reports whether the program ran, and forgets it.
func ran(t *testing.T, marker string) bool {
	t.Helper()
	_, trace := os.Stat(filepath.Join(filepath.Dir(marker), "trace"))
	err := os.Remove(marker)
	return err == nil || trace == nil
}

// hostile checks that the git of the machine falls for a repository; else a test
// would be none. Then it breaks a file that every configuration includes: whoever
// reads one of them, whatever for, fails from now on.
func hostile(t *testing.T, marker, dir string, args ...string) {
	t.Helper()
	_, _ = try(dir, args...)
	if !ran(t, marker) {
		t.Fatal("the repository is not hostile")
	}
	evil := filepath.Dir(marker)
	if err := os.RemoveAll(filepath.Join(evil, "trace")); err != nil {
		t.Fatal(err)
	}
	write(t, evil, map[string]string{"more": "[broken"})
	if out, err := try(dir, "rev-parse", "HEAD"); err == nil || !strings.Contains(out, "bad config") {
		t.Fatalf("the broken configuration is not read: %v\n%s", err, out)
	}
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	dir := newRepository(t, "sha1")
	want := map[string]string{"a.yaml": "two\n", "platform/b.yaml": "b\n", ".gitignore": "ignored\n"}
	first, second := run(t, dir, "rev-parse", "HEAD~1"), run(t, dir, "rev-parse", "HEAD")
	// What a replacement puts in the place of a commit is not the commit.
	run(t, dir, "replace", second, first)
	write(t, dir, map[string]string{"new.yaml": "x", "ignored": "x"})
	marker := poison(t, dir)

	// The test is none unless the git of the machine falls for it.
	hostile(t, marker, dir, "status")

	v := open(t, filepath.Join(dir, "platform"))
	if v.Top != dir || v.Prefix != "platform" {
		t.Errorf("top %s, prefix %s", v.Top, v.Prefix)
	}
	if commit, err := v.Commit(t.Context(), "main"); err != nil || commit != second {
		t.Errorf("main is %s, %v; want %s", commit, err, second)
	}
	files, err := contents(t, v, "HEAD")
	delete(files, ".gitattributes")
	if diff := cmp.Diff(want, files); err != nil || diff != "" {
		t.Errorf("%v, files (-want +got):\n%s", err, diff)
	}
	listed, err := open(t, dir).Files(t.Context())
	slices.Sort(listed)
	if diff := cmp.Diff([]string{".gitattributes", ".gitignore", "a.yaml", "new.yaml", "platform/b.yaml"}, listed); err != nil || diff != "" {
		t.Errorf("%v, listed (-want +got):\n%s", err, diff)
	}
	below, err := v.Files(t.Context())
	if diff := cmp.Diff([]string{"b.yaml"}, below); err != nil || diff != "" {
		t.Errorf("%v, listed below platform (-want +got):\n%s", err, diff)
	}
	v.Submodules(t.Context(), second)
	made := filepath.Join(t.TempDir(), "made")
	stream := "commit refs/heads/main\ncommitter t <t@example.com> 0 +0000\ndata 0\nM 100644 inline a\ndata 2\nx\n\ndone\n"
	if _, err := git.Make(t.Context(), made, "main", strings.NewReader(stream)); err != nil {
		t.Error(err)
	}
	if ran(t, marker) {
		t.Error("a program of the repository ran")
	}
}

// A partial clone makes git fetch what is missing, by a program of its choice.
func TestNothingIsFetched(t *testing.T) {
	dir := newRepository(t, "sha1")
	blob := run(t, dir, "rev-parse", "HEAD:a.yaml")
	marker := poison(t, dir)
	if err := os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	hostile(t, marker, dir, "cat-file", "blob", blob)
	if _, err := contents(t, open(t, dir), "HEAD"); !errors.Is(err, git.ErrLacking) {
		t.Errorf("error %v", err)
	}
	if ran(t, marker) {
		t.Error("a program of the repository ran")
	}
}

func TestLayouts(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			dir := newRepository(t, format)
			run(t, dir, "branch", "older", "HEAD~1")
			linked, shared, shallow := filepath.Join(t.TempDir(), "linked"), filepath.Join(t.TempDir(), `shared "#\`), filepath.Join(t.TempDir(), "shallow")
			run(t, dir, "worktree", "add", "-q", linked, "older")
			run(t, dir, "clone", "-q", "--shared", dir, shared)
			run(t, dir, "clone", "-q", "--depth=1", "file://"+dir, shallow)
			packed := filepath.Join(t.TempDir(), "packed")
			run(t, dir, "clone", "-q", dir, packed)
			run(t, packed, "gc", "-q")
			run(t, packed, "update-index", "--split-index")
			bare := filepath.Join(t.TempDir(), "bare")
			run(t, dir, "clone", "-q", "--bare", dir, bare)
			for _, tc := range []struct{ dir, name, want string }{
				{dir, "HEAD", "two\n"},
				{dir, "older", "one\n"},
				{dir, "HEAD@{1}", "one\n"},
				{dir, "main^{/first}", "one\n"},
				{linked, "HEAD", "one\n"},
				{linked, "main", "two\n"},
				{linked, "HEAD@{0}", "one\n"},
				{shared, "HEAD~1", "one\n"},
				{shallow, "HEAD", "two\n"},
				{packed, "origin/older", "one\n"},
				{bare, "older", "one\n"},
			} {
				files, err := contents(t, open(t, tc.dir), tc.name)
				if err != nil || files["a.yaml"] != tc.want {
					t.Errorf("%s of %s: %q, %v", tc.name, filepath.Base(tc.dir), files["a.yaml"], err)
				}
			}
			for dir, want := range map[string]bool{dir: false, shallow: true} {
				if got := open(t, dir).Shallow(); got != want {
					t.Errorf("shallow is %v", got)
				}
			}
			for _, dir := range []string{packed, linked, shared} {
				if listed, err := open(t, dir).Files(t.Context()); err != nil || !slices.Contains(listed, "platform/b.yaml") {
					t.Errorf("%s: %v, %v", filepath.Base(dir), listed, err)
				}
			}
			if _, err := open(t, bare).Files(t.Context()); err == nil {
				t.Error("a bare repository has a work tree")
			}
			if _, err := open(t, shallow).Commit(t.Context(), "HEAD~1"); !errors.Is(err, git.ErrUnknown) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestUnknownFormat(t *testing.T) {
	dir := newRepository(t, "sha1")
	run(t, dir, "config", "extensions.refstorage", "reftable")
	var format *git.FormatError
	if _, err := git.Open(t.Context(), dir); !errors.As(err, &format) {
		t.Errorf("error %v", err)
	}
}

// A few small trees, each of the one before many times over, hold more than any
// disk.
func TestTreeWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("commits 64 MiB")
	}
	dir := newRepository(t, "sha1")
	write(t, dir, map[string]string{"platform/b.yaml": strings.Repeat("x", 64<<20)})
	run(t, dir, "commit", "-qam", "large")
	tree := run(t, dir, "rev-parse", "HEAD:platform")
	for range 6 {
		var lines strings.Builder
		for i := range 16 {
			fmt.Fprintf(&lines, "040000 tree %s\td%x\n", tree, i)
		}
		cmd := exec.Command("git", "mktree")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(lines.String())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		tree = strings.TrimSpace(string(out))
	}
	commit := run(t, dir, "commit-tree", "-m", "bomb", tree)
	if _, err := open(t, dir).Entries(t.Context(), commit); !errors.Is(err, git.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}
