package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
	"github.com/rollout-ladder/ladder/internal/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// root is the top of the repository.
const root = "../.."

func TestGolden(t *testing.T) {
	for _, name := range schema.Names() {
		t.Run(name, func(t *testing.T) {
			got, err := schema.Get(name)
			if err != nil {
				t.Fatal(err)
			}
			again, err := schema.Get(name)
			if err != nil || !bytes.Equal(got, again) {
				t.Fatal("two calls differ")
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("run the test with -update and look at the difference:\n%s", diff)
			}
		})
	}
}

func TestUnknownName(t *testing.T) {
	if _, err := schema.Get("nothing"); err == nil || !strings.Contains(err.Error(), "bootstrap, component, findings, ladder, plan, plans, report") {
		t.Errorf("got %v", err)
	}
}

// compile loads a schema, against the schema of schemas.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := schema.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance turns any value into the types that the validator wants.
func instance(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func parse(t *testing.T, name, text string) *yamldoc.Value {
	t.Helper()
	v, err := yamldoc.ParseOne(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// read reads a document as Ladder does and returns its findings.
func read(t *testing.T, schemaName, file, text string) []finding.Finding {
	t.Helper()
	if schemaName == "ladder" {
		f, err := ladderfile.Parse(file, []byte(text))
		if err != nil {
			t.Error(err)
			return nil
		}
		return f.Findings
	}
	dir := t.TempDir()
	ctx := descriptor.Context{Tree: &repofs.Tree{Root: dir, Repository: dir}, Environment: "dev", Bands: ladderfile.DefaultBands()}
	_, findings, err := descriptor.Decode(parse(t, file, text), descriptor.Place{}, ctx)
	if err != nil {
		t.Error(err)
	}
	return findings
}

var fence = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

func TestDocumentsAreValid(t *testing.T) {
	for file, name := range map[string]string{"docs/descriptor.md": "component", "docs/ladder-file.md": "ladder"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		snippets := fence.FindAllStringSubmatch(string(text), -1)
		if len(snippets) < 4 {
			t.Fatalf("%s has %d snippets", file, len(snippets))
		}
		s := compile(t, name)
		for i, snippet := range snippets {
			t.Run(file+"/"+strconv.Itoa(i+1), func(t *testing.T) {
				v := parse(t, file, snippet[1])
				if err := s.Validate(instance(t, v.Any())); err != nil {
					t.Errorf("%v\n%s", err, snippet[1])
				}
				if found := read(t, name, file, snippet[1]); len(found) > 0 {
					t.Errorf("findings: %v", found)
				}
			})
		}
	}
}

func TestExamplesAreValid(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{
		descriptor.FileName:         compile(t, "component"),
		descriptor.DisabledFileName: compile(t, "component"),
		ladderfile.Name:             compile(t, "ladder"),
	}
	checked := 0
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || schemas[d.Name()] == nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		checked++
		if err := schemas[d.Name()].Validate(instance(t, parse(t, file, string(text)).Any())); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked == 0 {
		t.Error("no example was checked")
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct{ schema, text string }{
		"no name":                  {"component", `chart: {path: a}`},
		"phase over the end":       {"component", `{name: a, rolloutPhase: 1000}`},
		"phase that is no number":  {"component", `{name: a, rolloutPhase: "3x0"}`},
		"type that is not known":   {"component", `{name: a, componentType: operators}`},
		"chart without a place":    {"component", `{name: a, chart: {releaseName: x}}`},
		"misspelt field of chart":  {"component", `{name: a, chart: {path: x, valuesFiles: []}}`},
		"two kinds in one check":   {"component", `{name: a, smoke: [{job: {name: x}, tcp: {address: "a:1"}}]}`},
		"check that is not known":  {"component", `{name: a, smoke: [{pod: {name: x}}]}`},
		"health in two languages":  {"component", `{name: a, health: [{kind: X, cel: a, lua: b}]}`},
		"duration without a unit":  {"component", `{name: a, timeout: "10 minutes"}`},
		"layout that is not known": {"ladder", `layout: flat`},
		"misspelt section":         {"ladder", `step: []`},
		"step without phases":      {"ladder", `steps: [{maxUpdate: 3}]`},
		"more than all":            {"ladder", `steps: [{phases: [1], maxUpdate: "101%"}]`},
		"suppression, no reason":   {"ladder", `lint: {suppress: [{rule: a}]}`},
		"severity not known":       {"ladder", `lint: {rules: {a: fatal}}`},
		"preArgo without a source": {"ladder", `preArgo: [{name: a}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := compile(t, tt.schema).Validate(instance(t, parse(t, "test", tt.text).Any())); err == nil {
				t.Error("the schema allows it")
			}
		})
	}
}

// TestReadersKnowEveryField holds the readers against the schemas: a field that
// a schema has and its reader does not would be silently without effect.
func TestReadersKnowEveryField(t *testing.T) {
	for _, name := range []string{"component", "ladder"} {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		text, err := schema.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if len(s.Properties) < 5 {
			t.Fatalf("schema %s has %d properties", name, len(s.Properties))
		}
		var b strings.Builder
		for property := range s.Properties {
			if property != "name" {
				b.WriteString(property + ":\n")
			}
		}
		if name == "ladder" {
			for _, f := range read(t, name, "ladder.yaml", b.String()) {
				t.Error(f.Message)
			}
			continue
		}
		dir := t.TempDir()
		c, _, err := descriptor.Decode(parse(t, "component.yaml", "name: a\nmanifests: m\n"+strings.Replace(b.String(), "manifests:\n", "", 1)),
			descriptor.Place{}, descriptor.Context{Tree: &repofs.Tree{Root: dir, Repository: dir}})
		if err != nil || len(c.Unknown) > 0 {
			t.Errorf("unknown to the reader: %v, %v", c.Unknown, err)
		}
	}
}

func TestWrittenDocumentsAreValid(t *testing.T) {
	at := report.Time(time.Date(2025, 3, 1, 12, 0, 0, 5e6, time.UTC))
	p, err := plan.Build(plan.Input{Environment: "dev", Policy: "edges"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		schema   string
		document any
	}{
		"empty plan": {"plan", report.PlanDocument(p, nil)},
		"rollout": {"report", report.Rollout{
			FormatVersion: report.FormatVersion, Result: "failed", Started: at,
			Components:  []report.RolloutComponent{{Name: "a", StartedAt: at, BlockedBy: []report.Blocker{{Component: "b"}}}},
			Transitions: []report.Transition{{At: at, Component: "a"}},
			Unrendered:  []report.Unrendered{{Component: "c"}},
			Against:     []report.PlanEdge{{From: "a", To: "b", Strength: "hard", Basis: "declared", Evidence: []finding.Evidence{}}},
			Errors:      []finding.Finding{{Rule: "cycle", Severity: finding.Error, Scope: finding.Cross, Basis: finding.Declared, Evidence: []finding.Evidence{}}},
			Untested:    []finding.Finding{{Rule: "smoke-tests-nothing", Severity: finding.Error, Scope: finding.Rule, Basis: finding.Declared, Evidence: []finding.Evidence{}}},
		}},
		"findings": {"findings", report.Findings{
			FormatVersion: "1",
			Components:    []report.ListedComponent{{Name: "a", Order: "(10,30)"}},
			Findings:      []finding.Finding{{Rule: "cycle", Severity: finding.Error, Scope: finding.Cross, Basis: finding.Rendered, Evidence: []finding.Evidence{{Text: "x"}}}},
			Unrendered:    []report.Unrendered{},
			Summary:       report.FindingsSummary{Coverage: report.Coverage{}.Sorted()},
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := compile(t, tt.schema).Validate(instance(t, tt.document)); err != nil {
				t.Error(err)
			}
		})
	}
	bad := instance(t, map[string]any{"formatVersion": "1", "findings": []any{map[string]any{"severity": "fatal"}}})
	if err := compile(t, "findings").Validate(bad); err == nil {
		t.Error("the schema allows a finding without fields")
	}
}
