package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf compiles a schema that the command prints.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	out := ladder(t, t.TempDir(), "schema", name)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(out.stdout))
	if err != nil {
		t.Fatalf("ladder schema %s: exit code %d, %v", name, out.code, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name+".json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// wantDocument fails unless a text is exactly one JSON document, valid against
// a schema.
func wantDocument(t *testing.T, schema *jsonschema.Schema, text string) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		t.Errorf("after the document: %v", err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
}

// TestOutputsKeepTheirSchemas validates what the command writes about platforms
// that work, fail, cannot be rendered whole and run out of time.
func TestOutputsKeepTheirSchemas(t *testing.T) {
	t.Parallel()
	plan, plans, report := schemaOf(t, "plan"), schemaOf(t, "plans"), schemaOf(t, "report")
	root := repositoryRoot(t)
	t.Run("plan", func(t *testing.T) {
		for _, args := range [][]string{
			{"examples/ameide", "-e", "dev"}, {"examples/ameide-tiers", "-e", "dev"}, {"examples/zerotouch", "-e", "main"},
			{"examples/ameide", "-e", "prod", "--policy", "edges"}, {"examples/zerotouch", "-e", "preview", "--policy", "serial"},
		} {
			wantDocument(t, plan, ladder(t, root, append([]string{"plan", "--format", "json", "--progress", "plain", "--verbose"}, args...)...).stdout)
		}
		wantDocument(t, plans, ladder(t, root, "plan", "--format", "json", "--progress", "none", "examples/ameide", "-e", "all").stdout)
	})
	t.Run("report", func(t *testing.T) {
		t.Parallel()
		incomplete := writeCanary(t, map[string]string{"environments/dev/components/far/component.yaml": "name: far\nnamespace: app\nrolloutPhase: \"450\"\nchart: {path: sources/charts/far}\n"})
		for name, tc := range map[string]struct {
			dir  string
			code int
			args []string
		}{
			"works":                  {writeCanary(t, nil), 0, nil},
			"fails":                  {writeCanary(t, map[string]string{"sources/store.yaml": "apiVersion: a.b/v1\nkind: Nothing\nmetadata: {name: nothing}\n"}), 1, []string{"--on-failure", "continue", "--least-timeout", "5s"}},
			"times out":              {slowPlatform(t), 4, []string{"--speed", "1", "--timeout", "3s"}},
			"unrendered":             {incomplete, 1, nil},
			"unrendered and allowed": {incomplete, 0, []string{"--allow-unrendered"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				out := ladder(t, tc.dir, append([]string{"rehearse", "--format", "json", "--progress", "json", "--speed", "600"}, tc.args...)...)
				if out.code != tc.code {
					t.Errorf("exit code %d, want %d: %s", out.code, tc.code, out.stderr)
				}
				wantDocument(t, report, out.stdout)
				// What stood in as an empty component is never called healthy.
				if empty := strings.Contains(out.stdout, `"state": "unrendered"`); empty != (tc.dir == incomplete) {
					t.Errorf("a component is in the state unrendered: %v", empty)
				}
				for _, text := range []string{out.stdout, out.stderr} {
					if tc.dir == incomplete && (regexp.MustCompile(`"component": ?"far",[^}]*"to": ?"healthy"`).MatchString(text) ||
						!regexp.MustCompile(`"component": ?"far",[^}]*"to": ?"unrendered"`).MatchString(text)) {
						t.Errorf("an empty component is called healthy:\n%s", text)
					}
				}
			})
		}
		t.Run("interrupted", func(t *testing.T) {
			t.Parallel()
			state := ownHome(t)
			b := start(t, slowPlatform(t), "rehearse", "--plane", "x", "--format", "json", "--progress", "none", "--speed", "1")
			rollingOut(t, state, "x")
			if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code, stderr := b.end(t); code != 130 {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			wantDocument(t, report, b.stdout.String())
		})
	})
}
