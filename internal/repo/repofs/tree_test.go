package repofs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// write makes files below a new folder; a content that starts with "-> " makes
// a symbolic link.
func write(t *testing.T, content map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestDiscover(t *testing.T) {
	content := map[string]string{
		".git/HEAD":                        "ref: refs/heads/main",
		"one/ladder.yaml":                  "",
		"one/sources/charts/a/Chart.yaml":  "",
		"two/environments/dev/x":           "",
		"plain/apps/a.yaml":                "",
		"ladder.yaml.d/not-a-ladder-file":  "",
		"file-named/environments":          "",
		"file-named/below/component.yaml":  "",
		"two/environments/dev/deep/a.yaml": "",
	}
	top := write(t, content)
	tests := map[string]struct{ path, root string }{
		"the root itself":                  {"one", "one"},
		"a parent with ladder.yaml":        {"one/sources/charts", "one"},
		"a parent with environments":       {"two/environments/dev/deep", "two"},
		"no marker":                        {"plain/apps", "plain/apps"},
		"a file named environments":        {"file-named/below", "file-named/below"},
		"the top of the repository itself": {".", "."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tree, err := repofs.Discover(filepath.Join(top, tt.path))
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(top, tt.root); tree.Root != want || tree.Repository != top {
				t.Errorf("got %s in %s, want %s in %s", tree.Root, tree.Repository, want, top)
			}
		})
	}
}

func TestDiscoverOutsideGitDoesNotLookAbove(t *testing.T) {
	top := write(t, map[string]string{"ladder.yaml": "", "a/b/c.yaml": ""})
	tree, err := repofs.Discover(filepath.Join(top, "a/b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(top, "a/b"); tree.Root != want || tree.Repository != want {
		t.Errorf("got %+v, want both %s", tree, want)
	}
}

func TestDiscoverRefuses(t *testing.T) {
	top := write(t, map[string]string{"file.yaml": ""})
	for path, want := range map[string]string{"file.yaml": "is a file", "missing": "does not exist"} {
		_, err := repofs.Discover(filepath.Join(top, path))
		var input *repofs.InputError
		if !errors.As(err, &input) || !strings.Contains(input.Message, want) || input.Hint == "" {
			t.Errorf("%s: got %v, want an InputError saying %q with a hint", path, err, want)
		}
	}
}

func tree(t *testing.T, content map[string]string) *repofs.Tree {
	t.Helper()
	top := write(t, content)
	return &repofs.Tree{Root: filepath.Join(top, "repo/platform"), Repository: filepath.Join(top, "repo")}
}

func TestReadStaysInsideTheRepository(t *testing.T) {
	tr := tree(t, map[string]string{
		"secret":                      "outside",
		"repo/shared/a.yaml":          "shared",
		"repo/platform/a.yaml":        "own",
		"repo/platform/inside.yaml":   "-> ../shared/a.yaml",
		"repo/platform/outside.yaml":  "-> ../../secret",
		"repo/platform/absolute.yaml": "-> /etc/hostname",
		"repo/platform/up":            "-> ../..",
		"repo/platform/dangling.yaml": "-> nowhere",
		"repo/platform/loop":          "-> loop",
		"repo-twin/a.yaml":            "a folder whose name starts like the repository's",
	})
	tests := map[string]struct{ path, want, refused string }{
		"own file":                 {path: "a.yaml", want: "own"},
		"above, in the repository": {path: "../shared/a.yaml", want: "shared"},
		"link inside":              {path: "inside.yaml", want: "shared"},
		"path that leaves":         {path: "../../secret", refused: "path ../../secret leaves the repository"},
		"path into a twin":         {path: "../../repo-twin/a.yaml", refused: "leaves the repository"},
		"absolute path":            {path: "/etc/hostname", refused: "is absolute"},
		"link that leaves":         {path: "outside.yaml", refused: "outside.yaml is a symbolic link that leaves the repository"},
		"absolute link":            {path: "absolute.yaml", refused: "absolute.yaml is a symbolic link that leaves the repository"},
		"folder link that leaves":  {path: "up/secret", refused: "up is a symbolic link that leaves the repository"},
		"missing behind a link":    {path: "up/missing/file", refused: "up is a symbolic link that leaves the repository"},
		"dangling link":            {path: "dangling.yaml", refused: "symbolic link to nothing"},
		"link to itself":           {path: "loop", refused: "cannot be read"},
		"folder":                   {path: ".", refused: "not a regular file"},
		"missing":                  {path: "missing.yaml", refused: "no such file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data, err := tr.Read(tt.path)
			if tt.refused == "" {
				if err != nil || string(data) != tt.want {
					t.Errorf("got %q, %v", data, err)
				}
				return
			}
			var input *repofs.InputError
			if !errors.As(err, &input) || !strings.Contains(input.Error(), tt.refused) {
				t.Fatalf("got %v, want %q", err, tt.refused)
			}
			if input.Position.File != tt.path {
				t.Errorf("position %v does not name the file", input.Position)
			}
			if strings.Contains(err.Error(), tr.Repository) {
				t.Errorf("the message holds an absolute path: %v", err)
			}
		})
	}
	if _, err := tr.Read("missing.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is not fs.ErrNotExist: %v", err)
	}
}

func TestReadLimitsTheSize(t *testing.T) {
	tr := tree(t, map[string]string{"repo/platform/a.yaml": strings.Repeat("#", repofs.MaxFileSize), "repo/platform/b.yaml": strings.Repeat("#", repofs.MaxFileSize+1)})
	if _, err := tr.Read("a.yaml"); err != nil {
		t.Errorf("a file of the greatest size is refused: %v", err)
	}
	if _, err := tr.Read("b.yaml"); err == nil || !strings.Contains(err.Error(), "b.yaml: is larger than 4 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	tr := tree(t, map[string]string{
		"other/c.yaml":                "",
		"repo/platform/x/c.yaml":      "",
		"repo/platform/x/y/c.yaml":    "",
		"repo/platform/x/y/d.yaml":    "",
		"repo/platform/x/.git/c.yaml": "",
		"repo/platform/x/circle":      "-> ..",
		"repo/platform/x/shared":      "-> ../../shared",
		"repo/platform/x/away.txt":    "-> ../../../other/c.yaml",
		"repo/shared/c.yaml":          "",
	})
	got, err := tr.Find(context.Background(), "x", func(name string) bool { return name == "c.yaml" })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"x/c.yaml", "x/shared/c.yaml", "x/y/c.yaml"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFindNear(t *testing.T) {
	tr := tree(t, map[string]string{
		"repo/c.yaml": "", "repo/a/c.yaml": "", "repo/a/b/c.yaml": "", "repo/platform/x/c.yaml": "", "repo/link": "-> a/b",
	})
	match := func(name string) bool { return name == "c.yaml" }
	for depth, want := range [][]string{
		{"../c.yaml"},
		{"../a/c.yaml", "../c.yaml", "../link/c.yaml"},
		{"../a/b/c.yaml", "../a/c.yaml", "../c.yaml", "../link/c.yaml", "../platform/x/c.yaml"},
	} {
		got, err := tr.FindNear(t.Context(), "..", depth, match)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("depth %d:\n%s", depth, diff)
		}
	}
}

func TestFindRefusesLinksThatLeave(t *testing.T) {
	for name, link := range map[string]string{"a folder": "x/away", "a matching file": "x/c.yaml"} {
		t.Run(name, func(t *testing.T) {
			target := "-> ../../../other"
			if strings.HasSuffix(link, ".yaml") {
				target += "/c.yaml"
			}
			tr := tree(t, map[string]string{"other/c.yaml": "", "repo/platform/" + link: target, "repo/platform/x/y/c.yaml": ""})
			got, err := tr.Find(context.Background(), "x", func(name string) bool { return name == "c.yaml" })
			input := repofs.InputErrors(err)
			if len(input) != 1 || !strings.Contains(input[0].Message, link+" is a symbolic link that leaves") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff([]string{"x/y/c.yaml"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInputErrorsFlattensInOrder(t *testing.T) {
	a := &repofs.InputError{Position: finding.Position{File: "a", Line: 1}, Message: "one"}
	b := &repofs.InputError{Message: "two", Hint: "do this"}
	err := errors.Join(a, nil, errors.Join(b, errors.New("other")))
	if got := repofs.InputErrors(err); len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("got %v", got)
	}
	if a.Error() != "a:1: one" || b.Error() != "two (do this)" {
		t.Errorf("got %q and %q", a.Error(), b.Error())
	}
}
