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
		file := filepath.Join(dir, "ab", "abkey."+name+".json")
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

// Other things in the folder, and a folder that cannot be, are no failure.
func TestCacheBesideOthers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ab/abkey", "ab/.new-1.json", "ab/abkey.json", "ab/abkey.1.json.part"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := bases(newCache(dir).variants("abkey")); !cmp.Equal(got, []string{"abkey.json"}) {
		t.Errorf("got %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCache(filepath.Join(dir, "file"))
	c.add("abkey", "1", nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { c.variants("abkey") })
	}
	group.Wait()
}
