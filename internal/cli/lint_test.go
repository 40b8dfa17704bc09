package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/schema"
)

// TestExamplesLintJSON: what lint writes about the examples fits the schema of
// findings, and a second run writes the same bytes.
func TestExamplesLintJSON(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	text, err := schema.Get("findings")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("findings", document); err != nil {
		t.Fatal(err)
	}
	findings, err := c.Compile("findings")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadDir(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			lint := func() string {
				var out, problems bytes.Buffer
				args := []string{"lint", filepath.Join("..", "..", "examples", e.Name()), "-e", "all", "--offline", "--format", "json", "--fail-on", "none", "--progress", "none"}
				code := Main("ladder", args, "test", &stream.Streams{Out: &out, Err: &problems, Getenv: func(string) string { return "" }})
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, problems.String())
				}
				return out.String()
			}
			first := lint()
			written, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(first)))
			if err != nil {
				t.Fatal(err)
			}
			if err := findings.Validate(written); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(first, lint()); diff != "" {
				t.Errorf("a second run differs:\n%s", diff)
			}
		})
	}
}

// TestLintVerdictFirst: where one of several environments is linted, that is said after the
// verdict.
func TestLintVerdictFirst(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	for _, environment := range []string{"dev", "prod"} {
		folder := filepath.Join(dir, "environments", environment, "components", "web")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "component.yaml"), []byte("name: web\nrolloutPhase: \"650\"\nenabled: false\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var terminal bytes.Buffer
	code := Main("ladder", []string{"lint", dir, "--offline", "--progress", "none"}, "test", &stream.Streams{Out: &terminal, Err: &terminal, Getenv: func(string) string { return "" }})
	verdict, aside := strings.Index(terminal.String(), "0 errors"), strings.Index(terminal.String(), "only dev is linted, not prod")
	if code != 0 || verdict < 0 || aside < verdict {
		t.Errorf("exit code %d, the verdict at %d, the rest at %d:\n%s", code, verdict, aside, terminal.String())
	}
}
