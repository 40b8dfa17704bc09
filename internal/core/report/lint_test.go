package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// everything is a result that has one of everything, and texts that mean
// something to terminals, to GitHub and to Markdown.
func everything() report.Lint {
	late := finding.Finding{
		Rule: "secret-before-use", Severity: finding.Error, Scope: finding.Cross, Environment: "dev", Component: "web", Provider: "vault",
		Resource: finding.Resource{Kind: "Secret", Namespace: "shop", Name: "db"},
		Message:  "web reads\x1b[2J <b>Secret</b> 100%\n::error::x, vault comes later",
		Position: finding.Position{File: "a folder/web:1.yaml", Line: 7}, Basis: finding.Rendered,
		Evidence: []finding.Evidence{{Text: "names [it](x) | `y`", File: "web.yaml", Line: 9, Field: "spec.x"}, {Text: "no file"}},
		Fix:      finding.Fix{Summary: "move it, please"},
	}
	alsoProd := late
	alsoProd.Environment = "prod"
	var more []finding.Finding
	for _, name := range []string{"b", "c", "d", "e", "f", "g"} {
		f := late
		f.Resource.Name, f.Message, f.Position.File = name, "reads Secret "+name, name+".yaml"
		more = append(more, f)
	}
	hidden := finding.Finding{Rule: "cycle", Severity: finding.Warning, Environment: "dev", Component: "web", Message: "hidden", Position: finding.Position{File: "h.yaml", Line: 1}}
	return report.Lint{
		Environments: []string{"dev", "prod"},
		Components: []report.ListedComponent{
			{Name: "web", Environment: "dev", Order: "350", Source: "web.yaml"}, {Name: "web", Environment: "prod", Order: "350", Source: "web.yaml"},
		},
		Edges: 3, Known: 2, Milder: 1, Folder: "deploy", Version: "v1",
		Findings: append([]finding.Finding{late, alsoProd}, append(more,
			finding.Finding{Rule: "not-a-listed-rule", Severity: finding.Info, Environment: "dev", Message: "about the platform", Basis: finding.Catalogue})...),
		Suppressed: []lint.Suppressed{
			{Finding: hidden, By: lint.Suppression{Rule: "cycle", Reason: "it is meant", File: "h.yaml", Position: finding.Position{File: "h.yaml", Line: 1}}},
			{Finding: hidden, By: lint.Suppression{Rule: "cycle", Reason: "it is meant"}},
		},
		Coverage: report.Coverage{
			Applications: report.ApplicationCount{Found: 4, Read: 3, Rendered: 2},
			Unread:       []report.UnreadPart{{Name: "far", File: "far.yaml", Line: 2, Reason: "offline"}, {Name: "alone", File: "alone.yaml", Line: 1, Reason: "nobody applies it"}},
			Assumptions:  []report.Assumption{{Text: "one cluster", File: "set.yaml", Line: 3}},
		},
		Unrendered: []report.Unrendered{
			{Component: "far", Environment: "dev", Source: "chart", Reason: "offline", File: "far.yaml", Line: 2},
			{Component: "far", Environment: "prod", Source: "chart", Reason: "offline", File: "far.yaml", Line: 2},
		},
		Rules: []lint.Rule{
			{ID: "cycle", Summary: "Components require each other", Doc: "All about it.", Severity: finding.Error},
			{ID: "secret-before-use", Summary: "Too early", Doc: "All about it.", Severity: finding.Error},
		},
	}
}

// sarifSchema is the schema that OASIS publishes, as it comes with the source of
// one of the tools of this repository.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-modfile=tools/go.mod", "-f", "{{.Dir}}", "github.com/securego/gosec/v2")
	list.Dir = filepath.Join("..", "..", "..")
	out, err := list.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("the module with the SARIF schema is not downloaded (go mod download -modfile=tools/go.mod): %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report", "sarif", "testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sarif(t *testing.T, l report.Lint) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.SARIF(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSARIFIsValid(t *testing.T) {
	schema := sarifSchema(t)
	for name, l := range map[string]report.Lint{"everything": everything(), "nothing": {Folder: "."}} {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(sarif(t, l)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"version": "2.1.0", "runs": [{"results": []}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if schema.Validate(wrong) == nil {
		t.Error("the schema accepts a run without a tool")
	}
}

func TestSARIF(t *testing.T) {
	type location struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI, URIBaseID string }
			Region           struct{ StartLine int }
		}
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID, HelpURI string }
				}
			}
			Invocations []struct{ ToolExecutionNotifications []any }
			Results     []struct {
				RuleID              string
				RuleIndex           *int
				Level               string
				Locations           []location
				PartialFingerprints map[string]string
				Suppressions        []struct{ Kind, Justification string }
				Properties          struct{ Environments []string }
			}
		}
	}
	if err := json.Unmarshal(sarif(t, everything()), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if len(run.Results) != 10 {
		t.Fatalf("%d results, want 8 findings and 2 suppressed ones", len(run.Results))
	}
	first := run.Results[0]
	if first.RuleIndex == nil || run.Tool.Driver.Rules[*first.RuleIndex].ID != first.RuleID {
		t.Errorf("rule %s has index %v", first.RuleID, first.RuleIndex)
	}
	at := first.Locations[0].PhysicalLocation
	if diff := cmp.Diff([]any{"deploy/a%20folder/web:1.yaml", "%SRCROOT%", 7}, []any{at.ArtifactLocation.URI, at.ArtifactLocation.URIBaseID, at.Region.StartLine}); diff != "" {
		t.Errorf("location (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dev", "prod"}, first.Properties.Environments); diff != "" {
		t.Errorf("environments (-want +got):\n%s", diff)
	}
	want := lint.Fingerprint(everything().Findings[0])
	if first.PartialFingerprints["ladderFinding/v1"] != want {
		t.Errorf("fingerprints %v, want %s", first.PartialFingerprints, want)
	}
	if bare := run.Results[7]; bare.RuleIndex != nil || bare.Level != "note" || len(bare.Locations) != 0 {
		t.Errorf("a finding without a file, of a rule that is not listed: %+v", bare)
	}
	for i, kind := range []string{"inSource", "external"} {
		if s := run.Results[8+i].Suppressions; len(s) != 1 || s[0].Kind != kind || s[0].Justification != "it is meant" {
			t.Errorf("suppression %d: %+v, want kind %s", i, s, kind)
		}
	}
	if n := len(run.Invocations[0].ToolExecutionNotifications); n != 2 {
		t.Errorf("%d notifications of what is not rendered, want 2", n)
	}
}

func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	if err := report.GitHub(&b, everything()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	want := `::error file=deploy/a folder/web%3A1.yaml,line=7,title=secret-before-use web (dev%2C prod)::` +
		`web reads [2J <b>Secret</b> 100%25%0A::error::x, vault comes later%0Anames [it](x) | ` + "`y`" + ` (deploy/web.yaml:9)%0Ano file%0Afix: move it, please`
	if diff := cmp.Diff(want, lines[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	commands := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "::") {
			commands++
		}
	}
	if commands != 8 {
		t.Errorf("%d commands, want one for each of 8 findings:\n%s", commands, b.String())
	}
}

func TestLintMarkdown(t *testing.T) {
	var b bytes.Buffer
	if err := report.LintMarkdown(&b, everything()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- [`secret-before-use`](https://github.com/rollout-ladder/ladder/blob/main/docs/rules/secret-before-use.md) `deploy/a folder/web:1.yaml:7` **web** in dev, prod web reads \\[2J &lt;b&gt;Secret&lt;/b&gt; 100% ::error::x, vault comes later\n",
		"  - `deploy/web.yaml:9` names \\[it\\](x) \\| \\`y\\`\n",
		"### Not rendered", "### Notes",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestLintText(t *testing.T) {
	text := func(style report.Style, verbose bool) string {
		var b bytes.Buffer
		if err := report.LintText(&b, everything(), style, verbose); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	plain := text(report.Style{}, false)
	for _, want := range []string{
		"web (350) in dev, prod\n",
		"  a folder/web:1.yaml:7: error: web reads [2J <b>Secret</b> 100% ::error::x, vault comes later [secret-before-use]\n",
		"      web.yaml:9  names [it](x) | `y`  spec.x\n",
		"    also c.yaml:7: reads Secret c\n",
		"    and 1 more like this; --verbose shows them\n",
		"platform in dev\n  info: about the platform [not-a-listed-rule]\n", "rests on the catalogue",
		"✕ 7 errors (8 by environment), 0 warnings, 1 note in 2 components (3 edges, dev, prod); 2 of 4 Applications judged: 1 not read, 1 not rendered; 2 suppressed; 2 in the baseline; 1 milder and not shown\n",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "\x1b") || strings.Contains(plain, "it is meant") {
		t.Errorf("escape sequences, or what is suppressed, in\n%s", plain)
	}
	if !strings.Contains(text(report.Style{Color: true}, false), "\x1b[31merror: ") {
		t.Error("an error is not red")
	}
	verbose := text(report.Style{}, true)
	if strings.Contains(verbose, "more like this") || !strings.Contains(verbose, "suppressed: h.yaml:1: hidden [cycle], because: it is meant (h.yaml:1)\n") {
		t.Errorf("verbose does not show everything:\n%s", verbose)
	}
}

// TestLintTextFolds tells once what many components have alike, but every error.
func TestLintTextFolds(t *testing.T) {
	var l report.Lint
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		for _, field := range []string{"one", "two"} {
			f := finding.Finding{Rule: "crd-before-use", Severity: finding.Warning, Component: name, Provider: "operator", Message: name + " uses " + field + " of operator"}
			l.Findings = append(l.Findings, f)
			f.Rule, f.Severity, f.Message = "secret-before-use", finding.Error, name+" reads "+field
			l.Findings = append(l.Findings, f)
		}
	}
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		if err := report.LintText(&b, l, report.Style{}, verbose); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, name := range []string{"a", "d", "e", "g"} {
			if got, want := strings.Contains(text, name+" uses two of operator"), verbose || name < "e"; got != want {
				t.Errorf("verbose %t: the warning of %s is shown: %t\n%s", verbose, name, got, text)
			}
			if !strings.Contains(text, name+" reads two") {
				t.Errorf("verbose %t: no error of %s\n%s", verbose, name, text)
			}
		}
		const summary = "operator: the same in 3 more components [crd-before-use]; --verbose shows them:\n    e, f, g\n"
		if strings.Contains(text, summary) == verbose {
			t.Errorf("verbose %t:\n%s", verbose, text)
		}
		if !strings.Contains(text, "14 errors, 14 warnings") {
			t.Errorf("what is folded does not count:\n%s", text)
		}
	}
}

// TestLintTextFoldsApart: what comes too early is not the same as what nothing orders.
func TestLintTextFoldsApart(t *testing.T) {
	var l report.Lint
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		f := finding.Finding{Rule: "crd-before-use", Severity: finding.Warning, Component: name, Provider: "operator", Message: name + " and operator", Says: "unordered"}
		if i == 6 {
			f.Says = "later"
		}
		l.Findings = append(l.Findings, f)
	}
	var b bytes.Buffer
	if err := report.LintText(&b, l, report.Style{}, false); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, "g and operator") || !strings.Contains(text, "the same in 3 more components") || !strings.Contains(text, "    e, f, h\n") {
		t.Errorf("g says something else than the others:\n%s", text)
	}
}

// TestLintTextNetwork: a network that is missing is one cause of all that lacks it.
func TestLintTextNetwork(t *testing.T) {
	l := report.Lint{Unrendered: []report.Unrendered{
		{Component: "a", File: "a.yaml", Line: 1, Reason: "remote chart x cannot be fetched: x:443 " + finding.Unreached + ": no route to host"},
		{Component: "b", File: "b.yaml", Line: 1, Reason: "remote base y cannot be fetched: y:443 is not asked: " + finding.NoHostReached},
		{Component: "c", File: "c.yaml", Line: 1, Reason: "the chart c does not exist"},
	}}
	for _, verbose := range []bool{false, true} {
		var b bytes.Buffer
		if err := report.LintText(&b, l, report.Style{}, verbose); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Contains(text, "b.yaml:1") != verbose || strings.Contains(text, "  and 1 more like this: b\n") == verbose || !strings.Contains(text, "c.yaml:1") {
			t.Errorf("verbose %t:\n%s", verbose, text)
		}
	}
}

// How errors of one pair are mended is written once, below the last of them; verbose tells all.
func TestFixOfAPairOnce(t *testing.T) {
	of := func(rule, provider, fix string) finding.Finding {
		return finding.Finding{Rule: rule, Severity: finding.Error, Component: "web", Provider: provider, Message: "web needs it", Fix: finding.Fix{Summary: fix}}
	}
	l := report.Lint{Findings: []finding.Finding{
		of("crd-before-use", "op", "move web"), of("namespace-before-use", "op", "move web"), of("secret-before-use", "op", "split it"),
		of("crd-before-use", "db", "split it"), of("duplicate-resource", "", "remove it"), of("unprovided", "", "remove it"),
	}}
	for verbose, want := range map[bool][]string{
		false: {"crd-before-use", "namespace-before-use", "move web", "secret-before-use", "split it", "crd-before-use", "split it", "duplicate-resource", "remove it", "unprovided", "remove it"},
		true: {"crd-before-use", "move web", "namespace-before-use", "move web", "secret-before-use", "split it", "crd-before-use", "split it",
			"duplicate-resource", "remove it", "unprovided", "remove it"},
	} {
		var b strings.Builder
		if err := report.LintText(&b, l, report.Style{}, verbose); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSpace(line)
			if _, rule, ok := strings.Cut(line, "web needs it ["); ok {
				got = append(got, strings.TrimSuffix(rule, "]"))
			} else if fix, ok := strings.CutPrefix(line, "fix: "); ok {
				got = append(got, fix)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("verbose %t: %v, want %v", verbose, got, want)
		}
	}
}
