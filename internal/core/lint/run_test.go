package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

func TestEveryRuleIsDocumented(t *testing.T) {
	all := lint.All()
	if !slices.IsSortedFunc(all, func(a, b lint.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted")
	}
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r.ID] {
			t.Errorf("%s is there twice", r.ID)
		}
		seen[r.ID] = true
		if r.Summary == "" || strings.HasSuffix(r.Summary, ".") {
			t.Errorf("%s: the summary %q is a line without a full stop", r.ID, r.Summary)
		}
		if len(r.Doc) < 100 {
			t.Errorf("%s has no documentation", r.ID)
		}
		for _, part := range []string{"\nBad", "\nGood", "\nFix"} {
			if !strings.Contains(r.Doc, part) {
				t.Errorf("the page of %s has no part %q", r.ID, part[1:])
			}
		}
		if !strings.Contains(r.Doc, "Suppress it") && !strings.Contains(r.Doc, "no reason to suppress it") {
			t.Errorf("the page of %s does not say when to suppress it", r.ID)
		}
		if !slices.Contains([]finding.Severity{finding.Error, finding.Warning, finding.Info}, r.Severity) {
			t.Errorf("%s: severity %q", r.ID, r.Severity)
		}
	}
}

func TestRun(t *testing.T) {
	at := func(line int) finding.Position { return finding.Position{File: "a.yaml", Line: line} }
	crd := finding.Resource{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "gateways.example.org"}
	rule := lint.Rule{ID: "crd-before-use", Run: func(lint.Input) []finding.Finding {
		var found []finding.Finding
		for _, line := range []int{9, 3, 5, 7, 11} {
			found = append(found, finding.Finding{
				Rule: "crd-before-use", Severity: finding.Warning, Scope: finding.Cross, Component: "consumer", Provider: "provider",
				Resource: crd, Position: at(line), Message: "too early",
			})
		}
		found[3].Severity = finding.Error
		return append(found, finding.Finding{
			Rule: "crd-before-use", Severity: finding.Error, Scope: finding.Cross, Component: "other", Provider: "provider",
			Resource: crd, Position: at(20), Message: "too early",
		})
	}}
	elsewhere := []finding.Finding{
		{Rule: "unknown-field", Severity: finding.Warning, Scope: finding.Rule, Component: "consumer", Position: at(1), Message: "x"},
		{Rule: "unknown-field", Severity: finding.Warning, Scope: finding.Rule, Component: "consumer", Position: at(2), Message: "y"},
		{Rule: "unknown-field", Severity: finding.Warning, Scope: finding.Rule, Component: "consumer", Position: at(2), Message: "y"},
	}
	type line struct {
		Rule     string
		Severity finding.Severity
		Line     int
		Evidence string
	}
	joined := line{"crd-before-use", finding.Error, 3, "and 4 more objects, here and at a.yaml:7, a.yaml:9, ..."}
	other := line{"crd-before-use", finding.Error, 20, ""}
	tests := map[string]struct {
		options lint.Options
		want    []line
	}{
		"one finding per root cause, the gravest severity": {
			want: []line{joined, other, {"unknown-field", finding.Warning, 1, ""}, {"unknown-field", finding.Warning, 2, ""}},
		},
		"off":     {options: lint.Options{Levels: map[string]string{"unknown-field": lint.Off}}, want: []line{joined, other}},
		"only":    {options: lint.Options{Only: []string{"unknown-field"}}, want: []line{{"unknown-field", finding.Warning, 1, ""}, {"unknown-field", finding.Warning, 2, ""}}},
		"another": {options: lint.Options{Only: []string{"cycle"}}, want: []line{}},
		"a level": {
			options: lint.Options{Only: []string{"crd-before-use"}, Levels: map[string]string{"crd-before-use": "info"}},
			want:    []line{{"crd-before-use", finding.Info, 3, joined.Evidence}, {"crd-before-use", finding.Info, 20, ""}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.options.Rules = []lint.Rule{rule}
			got := []line{}
			for _, f := range lint.Run(lint.Input{Environment: "dev", Findings: elsewhere}, test.options) {
				if f.Environment != "dev" {
					t.Errorf("environment %q", f.Environment)
				}
				l := line{f.Rule, f.Severity, f.Position.Line, ""}
				for _, e := range f.Evidence {
					l.Evidence += e.Text
				}
				got = append(got, l)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSinceBaseline(t *testing.T) {
	a := finding.Finding{Rule: "cycle", Environment: "dev", Component: "a", Position: finding.Position{File: "x", Line: 1}, Message: "m"}
	moved := a
	moved.Position.Line, moved.Message = 90, "other words"
	elsewhere := a
	elsewhere.Position.File = "y"
	resource := finding.Finding{Rule: "cycle", Environment: "dev", Component: "a", Resource: finding.Resource{Kind: "Secret", Name: "s"}, Position: finding.Position{File: "x"}}
	resourceMoved := resource
	resourceMoved.Position.File = "z"
	prod := a
	prod.Environment = "prod"

	baseline := map[string]int{lint.Fingerprint(a): 1, lint.Fingerprint(resource): 1}
	fresh, known := lint.SinceBaseline([]finding.Finding{moved, resourceMoved, elsewhere, prod, a}, baseline)
	if diff := cmp.Diff([]finding.Finding{elsewhere, prod, a}, fresh); diff != "" || known != 2 {
		t.Errorf("known %d, new (-want +got):\n%s", known, diff)
	}
}
