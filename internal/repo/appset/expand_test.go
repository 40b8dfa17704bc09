package appset_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

var update = flag.Bool("update", false, "rewrite the expected results of the scenarios")

// repository is one in memory, known under one address.
type repository map[string][]byte

func (r repository) Own(url string) bool { return url == "https://example.org/r" }

func (r repository) Files() []string {
	var list []string
	for name := range r {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func (r repository) Read(file string) ([]byte, error) {
	data, ok := r[file]
	if !ok {
		return nil, errors.New("there is no such file")
	}
	return data, nil
}

// supplied reads the section "data": clusters, and parameters by generator.
func supplied(t testing.TB, text []byte) appset.Data {
	t.Helper()
	data := appset.Data{Parameters: map[string][]appset.Parameters{}}
	v, err := yamldoc.ParseOne("data", text)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(v *yamldoc.Value) map[string]string {
		m := map[string]string{}
		if v != nil {
			for _, e := range v.Entries {
				m[e.Key] = e.Value.Text
			}
		}
		return m
	}
	for _, e := range v.Entries {
		for _, item := range e.Value.Items {
			if e.Key == "clusters" {
				data.Clusters = append(data.Clusters, appset.Cluster{
					Name: item.TextAt("name"), Server: item.TextAt("server"),
					Labels: texts(item.At("labels")), Annotations: texts(item.At("annotations")),
				})
				continue
			}
			values, _ := item.Any().(map[string]any)
			data.Parameters[e.Key] = append(data.Parameters[e.Key], appset.Parameters{Values: values})
		}
	}
	return data
}

// TestExpand expands set.yaml of testdata/*.txtar against the other files.
func TestExpand(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range scenarios {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			content := repository{}
			var data appset.Data
			want := -1
			for i, f := range archive.Files {
				switch f.Name {
				case "want":
					want = i
				case "data":
					data = supplied(t, f.Data)
				default:
					content[f.Name] = f.Data
				}
			}
			sets, err := yamldoc.Parse("set.yaml", content["set.yaml"])
			if err != nil || want < 0 {
				t.Fatal(err, want)
			}
			var b strings.Builder
			for _, set := range sets {
				result, err := evaluate.Applications(context.Background(), set, content, data)
				if err != nil {
					t.Fatal(err)
				}
				describe(&b, result)
			}
			if *update {
				archive.Files[want].Data = []byte(b.String())
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[want].Data), b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// describe prints every text of the Applications that is not the same for all.
func describe(b *strings.Builder, result appset.Result) {
	for _, a := range result.Applications {
		fmt.Fprintf(b, "%s from %s", a.Value.TextAt("metadata", "name"), a.Element)
		if a.Assumed {
			fmt.Fprint(b, " assumed")
		}
		if len(a.Lacks) > 0 {
			fmt.Fprintf(b, " without %q", a.Lacks)
		}
		fmt.Fprintln(b)
		lines(b, "", a.Value)
	}
	for _, e := range result.Assumed {
		fmt.Fprintf(b, "assumed since %s\n", e.Error())
	}
	for _, e := range result.Unread {
		fmt.Fprintf(b, "unread %s\n", e.Error())
	}
}

func lines(b *strings.Builder, prefix string, v *yamldoc.Value) {
	for _, e := range v.Entries {
		key := yamldoc.Join(prefix, e.Key)
		if slices.Contains([]string{"apiVersion", "kind", "metadata.name"}, key) {
			continue
		}
		if e.Value.Kind == yamldoc.Map {
			lines(b, key, e.Value)
			continue
		}
		if key == "metadata.namespace" && e.Value.Text == "" {
			continue
		}
		fmt.Fprintf(b, "  %s: %v\n", key, e.Value.Any())
	}
}

func FuzzExpand(f *testing.F) {
	scenarios, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range scenarios {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			if section.Name == "set.yaml" {
				f.Add(string(section.Data))
			}
		}
	}
	content := repository{"apps/a/config.yaml": []byte("name: a\n"), "apps/b/config.json": []byte(`[{"name": "b", "n": 1}]`), "x": nil}
	f.Fuzz(func(t *testing.T, text string) {
		sets, err := yamldoc.Parse("set.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, set := range sets {
			if set.Kind != yamldoc.Map {
				continue
			}
			result, err := evaluate.Applications(context.Background(), set, content, appset.Data{})
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range result.Applications {
				if a.Value.TextAt("metadata", "name") == "" || a.Value.TextAt("kind") != "Application" || a.Element == (finding.Position{}) {
					t.Fatalf("accepted %+v", a)
				}
			}
			for _, e := range result.Unread {
				if e.Message == "" || e.Position.File == "" {
					t.Fatalf("no place: %#v", e)
				}
			}
		}
	})
}
