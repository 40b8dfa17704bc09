package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestPackages generates operators from small bundles: the head of the default
// channel counts, a product has the kinds of its project, and what is no bundle is
// passed over.
func TestPackages(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "bundles.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
			want[name] = headerOfPackages + string(f.Data)
			continue
		}
		file := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := packages([]string{"some/catalogue@0123456789ab=" + dir}, regexp.MustCompile("^left-"), regexp.MustCompile("^left-in$"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if want[name] != string(text) {
			t.Errorf("%s:\n%s\nwant:\n%s", name, text, want[name])
		}
	}
	if len(files) != len(want) {
		t.Errorf("%d files, want %d", len(files), len(want))
	}
	if _, err := packages([]string{dir}, nil, nil); err == nil {
		t.Error("a checkout without owner and commit is taken")
	}
}
