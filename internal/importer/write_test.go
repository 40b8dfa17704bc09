package importer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// tree lists the files below a folder with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func fileList(pairs ...string) []importer.File {
	var all []importer.File
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, importer.File{Path: pairs[i], Content: []byte(pairs[i+1])})
	}
	return all
}

func TestWrite(t *testing.T) {
	tests := map[string]struct {
		before map[string]string
		link   [2]string // name, target
		files  []importer.File
		force  bool
		want   map[string]string // below out; nil for an error
		failed string
	}{
		"into a new folder": {
			files: fileList("a/b.yaml", "1", "c.yaml", "2"),
			want:  map[string]string{"a/b.yaml": "1", "c.yaml": "2"},
		},
		"beside other files, and those with the same content": {
			before: map[string]string{"other": "x", "a/b.yaml": "1"}, files: fileList("a/b.yaml", "1", "c.yaml", "2"),
			want: map[string]string{"other": "x", "a/b.yaml": "1", "c.yaml": "2"},
		},
		"another content is refused, and nothing is written": {
			before: map[string]string{"c.yaml": "mine"}, files: fileList("a/b.yaml", "1", "c.yaml", "2"),
			failed: "with another content, such as c.yaml",
		},
		"another content is replaced when asked": {
			before: map[string]string{"c.yaml": "mine"}, files: fileList("a/b.yaml", "1", "c.yaml", "2"), force: true,
			want: map[string]string{"a/b.yaml": "1", "c.yaml": "2"},
		},
		"a path that leaves the folder": {files: fileList("ok", "1", "../x", "2"), failed: "leaves the folder"},
		"an absolute path":              {files: fileList("/tmp/x", "2"), failed: "leaves the folder"},
		"a link in the way":             {link: [2]string{"a", "../elsewhere"}, files: fileList("ok", "1", "a/b", "2"), force: true, failed: "symbolic link"},
		"a link as the file":            {link: [2]string{"a", "../elsewhere/x"}, files: fileList("a", "2"), force: true, failed: "symbolic link"},
		"a file where a folder is needed": {
			before: map[string]string{"a": "x"}, files: fileList("a/b", "2"), force: true, failed: "a file is where a folder should be",
		},
		"a folder where a file is needed": {
			before: map[string]string{"a/b": "x"}, files: fileList("a", "2"), force: true, failed: "is no file",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			write(t, filepath.Join(dir, "elsewhere", "x"), "untouched")
			for file, text := range test.before {
				write(t, filepath.Join(out, file), text)
			}
			if test.link[0] != "" {
				if err := os.MkdirAll(out, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(test.link[1], filepath.Join(out, test.link[0])); err != nil {
					t.Fatal(err)
				}
			}
			target, err := importer.NewTarget(out)
			if err != nil {
				t.Fatal(err)
			}
			_, err = target.Write(test.files, test.force)
			switch {
			case test.failed == "" && err != nil:
				t.Fatal(err)
			case test.failed != "":
				var input *repofs.InputError
				if !errors.As(err, &input) || !strings.Contains(err.Error(), test.failed) {
					t.Fatalf("got %v, want %q", err, test.failed)
				}
				test.want = test.before
			}
			if test.link[0] == "" && (test.want != nil || test.failed == "") {
				if diff := cmp.Diff(test.want, tree(t, out)); diff != "" {
					t.Error(diff)
				}
			}
			if diff := cmp.Diff(map[string]string{"x": "untouched"}, tree(t, filepath.Join(dir, "elsewhere"))); diff != "" {
				t.Error("written through a link", diff)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), ".") {
					t.Errorf("left behind: %s", e.Name())
				}
			}
		})
	}
}

// TestWriteFails puts everything back when a file cannot be put in its place.
func TestWriteFails(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	write(t, filepath.Join(out, "a"), "before")
	write(t, filepath.Join(out, "locked", "b"), "before")
	if err := os.Chmod(filepath.Join(out, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(out, "locked"), 0o755) })
	target, err := importer.NewTarget(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Write(fileList("a", "after", "locked/b", "after", "new/c", "after"), true); err == nil {
		t.Fatal("it wrote into a locked folder")
	}
	if diff := cmp.Diff(map[string]string{"a": "before", "locked/b": "before"}, tree(t, out)); diff != "" {
		t.Error(diff)
	}
}

// TestStaysInside: an import into the top of a repository writes nothing outside of it, not even
// for a moment.
func TestStaysInside(t *testing.T) {
	for name, git := range map[string]bool{"of Git": true, "without Git": false} {
		t.Run(name, func(t *testing.T) {
			above := t.TempDir()
			dir := filepath.Join(above, "repository")
			write(t, filepath.Join(dir, "helmfile.yaml"), "releases: [{name: web, namespace: apps, chart: oci://charts.example.org/web, version: 1.0.0}]\n")
			if git {
				write(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
			}
			before := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(above, before, before); err != nil {
				t.Fatal(err)
			}
			importHelmfile(t, dir, "helmfile.yaml", ".", false)
			if _, ok := tree(t, dir)["ladder.yaml"]; !ok {
				t.Error("ladder.yaml is not written")
			}
			info, err := os.Stat(above)
			if err != nil {
				t.Fatal(err)
			}
			if !info.ModTime().Equal(before) {
				t.Error("something was written above the repository")
			}
		})
	}
}

func TestTargetRefusals(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	if err := os.Symlink(".", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"file": "is no folder", "link": "is a symbolic link"} {
		if _, err := importer.NewTarget(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}
