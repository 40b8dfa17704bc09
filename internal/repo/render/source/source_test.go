package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layout makes a repository "repo" with a platform in repo/platform, and a file
// beside the repository.
func layout(t *testing.T) (*Tree, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"outside.yaml": "secret", "repo/shared/a.yaml": "a", "repo/platform/b.yaml": "b", "repo/platform/sub/c.yaml": "c",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"repo/platform/out.yaml": "../../outside.yaml", "repo/platform/in.yaml": "../shared/a.yaml", "repo/platform/loop": ".",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := NewTree(filepath.Join(dir, "repo/platform"), filepath.Join(dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	return tree, dir
}

func TestReadsStayInTheRepository(t *testing.T) {
	tree, dir := layout(t)
	view := tree.View()
	for name, want := range map[string]string{"b.yaml": "b", "../shared/a.yaml": "a", "in.yaml": "a", "sub/../b.yaml": "b"} {
		data, err := view.Read(name)
		if err != nil || string(data) != want {
			t.Errorf("Read(%s) = %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"out.yaml", "../../outside.yaml", "../../nothing.yaml", filepath.Join(dir, "outside.yaml"), "/etc/hostname"} {
		_, err := view.Read(name)
		var escape *EscapeError
		if !errors.As(err, &escape) {
			t.Errorf("Read(%s): %v, want an *EscapeError", name, err)
		}
	}
	if _, err := view.Read("nothing.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a missing file: %v", err)
	}
}

func TestLinksInACircleEnd(t *testing.T) {
	tree, _ := layout(t)
	if err := Walk(tree.View(), ".", nil, func(string) error { return nil }); err == nil {
		t.Error("a walk through a link in a circle ends without an error")
	}
}

func TestTraceHoldsUntilSomethingChanges(t *testing.T) {
	change := map[string]func(t *testing.T, dir string){
		"nothing":        func(*testing.T, string) {},
		"content":        func(t *testing.T, dir string) { write(t, dir+"/repo/platform/b.yaml", "other") },
		"a new file":     func(t *testing.T, dir string) { write(t, dir+"/repo/platform/sub/d.yaml", "d") },
		"a file appears": func(t *testing.T, dir string) { write(t, dir+"/repo/platform/later.yaml", "x") },
		"link target":    func(t *testing.T, dir string) { write(t, dir+"/repo/shared/a.yaml", "x") },
	}
	got := map[string]bool{}
	for name, apply := range change {
		tree, dir := layout(t)
		view := tree.View()
		_, _ = view.Read("b.yaml")
		_, _ = view.Read("in.yaml")
		_, _ = view.Read("later.yaml")
		_, _ = view.List("sub")
		trace, ok := view.Trace()
		if !ok || len(trace) != 4 {
			t.Fatalf("trace %v, %v", trace, ok)
		}
		apply(t, dir)
		fresh, err := NewTree(dir+"/repo/platform", dir+"/repo")
		if err != nil {
			t.Fatal(err)
		}
		got[name] = fresh.Holds(trace)
	}
	want := map[string]bool{"nothing": true, "content": false, "a new file": false, "a file appears": false, "link target": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holds (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsNotKept: what is over the limit is read again, and is the same or an error.
func TestWhatIsNotKept(t *testing.T) {
	tree, dir := layout(t)
	tree.limit = 3
	for _, name := range []string{"two", "also"} {
		write(t, dir+"/repo/platform/"+name+".yaml", "xy")
	}
	view := tree.View()
	for range 2 {
		for name, want := range map[string]string{"two.yaml": "xy", "also.yaml": "xy", "b.yaml": "b"} {
			if data, err := view.Read(name); err != nil || string(data) != want {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
	}
	if kept := tree.kept.Load(); kept != 3 {
		t.Errorf("%d bytes are kept", kept)
	}
	changed := 0
	for _, name := range []string{"two", "also"} {
		write(t, dir+"/repo/platform/"+name+".yaml", "changed")
		if data, err := view.Read(name + ".yaml"); err != nil {
			changed++
		} else if string(data) != "xy" {
			t.Errorf("%s changes to %q", name, data)
		}
	}
	if changed != 1 {
		t.Errorf("%d of two files were read again", changed)
	}
}
