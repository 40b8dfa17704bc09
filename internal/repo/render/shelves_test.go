package render

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func bases(paths []string) []string {
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func TestCacheKeepsVariants(t *testing.T) {
	dir := t.TempDir()
	c := newCache(dir)
	if got := c.variants("abkey"); len(got) > 0 {
		t.Errorf("an empty cache has %v", got)
	}
	start := time.Now().Add(-time.Hour)
	for i := range maxVariants + 1 {
		name := fmt.Sprint(9 - i) // the oldest is not the first by name
		c.add("abkey", name, []byte(name))
		file := filepath.Join(dir, "a", "abkey."+name+".json")
		if err := os.Chtimes(file, start, start.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	c.add("abother", "1", nil)
	c.add("abkey", "5", []byte("again"))
	want := []string{"abkey.5.json", "abkey.6.json", "abkey.7.json", "abkey.8.json"}
	for what, c := range map[string]*cache{"the same": c, "another process": newCache(dir)} {
		if diff := cmp.Diff(want, bases(c.variants("abkey"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff([]string{"abother.1.json"}, bases(c.variants("abother"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	if data, err := os.ReadFile(c.variants("abkey")[0]); err != nil || string(data) != "again" {
		t.Errorf("a variant that is written again is %q, %v", data, err)
	}
}

// Other things in the folder are no entries.
func TestCacheBesideOthers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/abkey", "ab/.new-1.json", "ab/abkey.json", "ab/abkey.1.json.part"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := bases(newCache(dir).variants("abkey")); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// A folder that cannot be made is no failure, and what is in its place stays.
func TestCacheWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCache(file)
	c.add("abkey", "1", []byte("entry"))
	for _, name := range c.variants("abkey") {
		if _, err := os.ReadFile(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q, %v", data, err)
	}
}

func TestCacheSideBySide(t *testing.T) {
	c := newCache(t.TempDir())
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			c.variants("abkey")
			c.add(fmt.Sprintf("ab%d", i), "1", nil)
		})
	}
	group.Wait()
	for _, c := range []*cache{c, newCache(c.dir)} {
		for i := range 32 {
			if got := c.variants(fmt.Sprintf("ab%d", i)); len(got) != 1 {
				t.Errorf("key %d has %v", i, got)
			}
		}
	}
}
