package repofs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// One tree shows one state of the files, however often and by how many it is asked.
func TestTreeRemembers(t *testing.T) {
	root := write(t, map[string]string{"a/one.yaml": "one", "a/link.yaml": "-> one.yaml", "b/two.yaml": "two"})
	tree := &repofs.Tree{Root: root, Repository: root}
	look := func() (seen []string) {
		for _, file := range []string{"a/one.yaml", "a/link.yaml", "b/two.yaml"} {
			data, err := tree.Read(file)
			if err != nil {
				t.Error(err)
			}
			seen = append(seen, string(data))
		}
		found, err := tree.Find(t.Context(), ".", func(string) bool { return true })
		if err != nil {
			t.Error(err)
		}
		return append(seen, found...)
	}
	want := []string{"one", "one", "two", "a/link.yaml", "a/one.yaml", "b/two.yaml"}
	if diff := cmp.Diff(want, look()); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	for _, file := range []string{"a/one.yaml", "b/three.yaml"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if diff := cmp.Diff(want, look()); diff != "" {
				t.Errorf("later (-want +got):\n%s", diff)
			}
		})
	}
	group.Wait()
	data, err := tree.Read("a/one.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_ = append(data, "more"...)
	tree = &repofs.Tree{Root: root, Repository: root}
	want = []string{"changed", "changed", "two", "a/link.yaml", "a/one.yaml", "b/three.yaml", "b/two.yaml"}
	if diff := cmp.Diff(want, look()); diff != "" {
		t.Errorf("a new tree (-want +got):\n%s", diff)
	}
}

// What is too much to keep is read all the same.
func TestTreeReadsLargeFiles(t *testing.T) {
	large := strings.Repeat("x", 100<<10)
	root := write(t, map[string]string{"large": large})
	tree := &repofs.Tree{Root: root, Repository: root}
	for range 2 {
		if data, err := tree.Read("large"); err != nil || string(data) != large {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
}

// Many folders next to each other are listed side by side: the same is found.
func TestFindInManyFolders(t *testing.T) {
	content := map[string]string{".git/config.yaml": "", "many/link": "-> f07", "many/.git/config.yaml": ""}
	var want []string
	for i := range 100 {
		file := path.Join("many", fmt.Sprintf("f%02d", i), "deep", "a.yaml")
		content[file] = ""
		want = append(want, file)
	}
	want = append(want, "many/link/deep/a.yaml")
	slices.Sort(want)
	root := write(t, content)
	tree := &repofs.Tree{Root: root, Repository: root}
	for range 2 {
		found, err := tree.Find(t.Context(), ".", func(string) bool { return true })
		if diff := cmp.Diff(want, found); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
