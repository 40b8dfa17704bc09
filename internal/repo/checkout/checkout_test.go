package checkout_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	config := func(url string) string {
		return "[core]\n\turl = wrong\n[remote \"upstream\"]\n\turl = wrong\n[remote \"origin\"]\n\tfetch = +refs/heads/*\n\turl = " + url + "\n[branch \"main\"]\n\tremote = origin\n"
	}
	for name, test := range map[string]struct {
		files map[string]string
		top   string
		want  checkout.Checkout
	}{
		"no checkout":     {files: map[string]string{"a": ""}},
		"a branch":        {files: map[string]string{".git/HEAD": "ref: refs/heads/feature/x\n", ".git/config": config("https://git.example.com/a.git")}, want: checkout.Checkout{URL: "https://git.example.com/a.git", Branch: "feature/x"}},
		"a mirror":        {files: map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": config("/srv/mirror/a.git")}, want: checkout.Checkout{Branch: "main"}},
		"detached":        {files: map[string]string{".git/HEAD": "0123456789abcdef\n", ".git/config": config("git@git.example.com:a/b.git")}, want: checkout.Checkout{URL: "git@git.example.com:a/b.git"}},
		"no origin":       {files: map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n"}, want: checkout.Checkout{Branch: "main"}},
		"credentials":     {files: map[string]string{".git/HEAD": "", ".git/config": config("https://bot:hunter2@git.example.com/a.git")}, want: checkout.Checkout{URL: "https://git.example.com/a.git"}},
		"a token":         {files: map[string]string{".git/HEAD": "", ".git/config": config("https://hunter2@git.example.com/a.git")}, want: checkout.Checkout{URL: "https://git.example.com/a.git"}},
		"the user of ssh": {files: map[string]string{".git/HEAD": "", ".git/config": config("ssh://git:hunter2@git.example.com/a.git")}, want: checkout.Checkout{URL: "ssh://git@git.example.com/a.git"}},
		"a worktree": {
			top: "work",
			files: map[string]string{
				"work/.git":                     "gitdir: ../main/.git/worktrees/work\n",
				"main/.git/worktrees/work/HEAD": "ref: refs/heads/side\n", "main/.git/worktrees/work/commondir": "../..\n",
				"main/.git/HEAD": "ref: refs/heads/main\n", "main/.git/config": config("https://git.example.com/a.git"),
			},
			want: checkout.Checkout{URL: "https://git.example.com/a.git", Branch: "side"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := checkout.Read(filepath.Join(write(t, test.files), test.top))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestHostile: a folder that somebody sent may have anything in .git.
func TestHostile(t *testing.T) {
	pipe := func(name string) error { return syscall.Mkfifo(name, 0o600) }
	endless := func(name string) error { return os.Symlink("/dev/zero", name) }
	for _, file := range []string{".git", ".git/HEAD", ".git/commondir", ".git/config"} {
		for what, put := range map[string]func(string) error{"a pipe": pipe, "a device": endless} {
			t.Run(file+" is "+what, func(t *testing.T) {
				dir := write(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
				name := filepath.Join(dir, filepath.FromSlash(file))
				if err := errors.Join(os.RemoveAll(name), put(name)); err != nil {
					t.Fatal(err)
				}
				if got, err := checkout.Read(dir); !errors.Is(err, repofs.ErrIrregular) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}
