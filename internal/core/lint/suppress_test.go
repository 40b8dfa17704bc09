package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

func TestSuppressions(t *testing.T) {
	const file = "a.yaml"
	at := func(line int) finding.Position { return finding.Position{File: file, Line: line} }
	tests := map[string]struct {
		content string
		want    []lint.Suppression
	}{
		"nothing": {content: "a: 1 # ignore this\n"},
		"the line above": {
			content: "a: 1\n# ladder:ignore cycle it is meant\nb: 2\n",
			want:    []lint.Suppression{{Rule: "cycle", Reason: "it is meant", File: file, From: 2, To: 3, Position: at(2)}},
		},
		"past further comments": {
			content: "a: 1\n# ladder:ignore cycle it is meant\n# more\n\nb: 2\nc: 3\n",
			want:    []lint.Suppression{{Rule: "cycle", Reason: "it is meant", File: file, From: 2, To: 5, Position: at(2)}},
		},
		"the end of a line": {
			content: "a: 1\nb: 2 # ladder:ignore cycle: it is meant\nc: 3\n",
			want:    []lint.Suppression{{Rule: "cycle", Reason: "it is meant", File: file, From: 2, To: 2, Position: at(2)}},
		},
		"the head of a document": {
			content: "a: 1\n---\n# ladder:ignore cycle it is meant\nb: 2\nc: 3\n---\nd: 4\n",
			want:    []lint.Suppression{{Rule: "cycle", Reason: "it is meant", File: file, From: 2, To: 5, Position: at(3)}},
		},
		"the head of a template": {
			content: "{{- if .Values.on }}\n{{/* ladder:ignore cycle it is meant */}}\na: 1\n{{- end }}\n",
			want:    []lint.Suppression{{Rule: "cycle", Reason: "it is meant", File: file, From: 1, To: 5, Position: at(2)}},
		},
		"no reason": {
			content: "a: 1\nb: 2 # ladder:ignore cycle\n",
			want:    []lint.Suppression{{Rule: "cycle", File: file, From: 2, To: 2, Position: at(2)}},
		},
		"no rule": {
			content: "a: 1\nb: 2 # ladder:ignore\n",
			want:    []lint.Suppression{{File: file, From: 2, To: 2, Position: at(2)}},
		},
		"text that is no comment": {content: "a: 1\nb: write ladder:ignore cycle here\nc: 2 # ladder:ignored\n"},
		"an annotation": {
			content: "metadata:\n  annotations:\n    ladder.rollout-ladder.dev/ignore: \"cycle: it is meant; unprovided: made by hand\"\n",
			want: []lint.Suppression{
				{Rule: "cycle", Reason: "it is meant", File: file, From: 1, To: 4, Position: at(3)},
				{Rule: "unprovided", Reason: "made by hand", File: file, From: 1, To: 4, Position: at(3)},
			},
		},
		"a plain annotation in the second document": {
			content: "a: 1\n---\nmetadata:\n  annotations:\n    \"ladder.rollout-ladder.dev/ignore\": cycle: it's meant\n",
			want:    []lint.Suppression{{Rule: "cycle", Reason: "it's meant", File: file, From: 2, To: 6, Position: at(5)}},
		},
		"an annotation in a block": {
			content: "metadata:\n  annotations:\n    ladder.rollout-ladder.dev/ignore: |\n      cycle: it is meant\n      unprovided: made by hand\n    other: x\n",
			want: []lint.Suppression{
				{Rule: "cycle", Reason: "it is meant", File: file, From: 1, To: 7, Position: at(3)},
				{Rule: "unprovided", Reason: "made by hand", File: file, From: 1, To: 7, Position: at(3)},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lint.Suppressions(file, test.content)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzSuppressions(f *testing.F) {
	f.Add("# ladder:ignore a b\nx: 1\n---\nladder.rollout-ladder.dev/ignore: |\n  a: b\n")
	f.Add("{{/* ladder:ignore */}}\r\n--- # ladder:ignore\r\n")
	f.Fuzz(func(t *testing.T, content string) {
		for _, s := range lint.Suppressions("f", content) {
			if s.From < 1 || s.To < s.From || s.Position.Line < s.From || s.Position.Line > s.To {
				t.Errorf("%+v: a suppression must cover the line that it is written in", s)
			}
		}
	})
}

func TestSuppress(t *testing.T) {
	found := []finding.Finding{
		{Rule: "cycle", Environment: "dev", Component: "a", Position: finding.Position{File: "x.yaml", Line: 7}},
		{Rule: "cycle", Environment: "prod", Component: "a", Position: finding.Position{File: "x.yaml", Line: 9}},
		{Rule: "unprovided", Environment: "dev", Component: "b", Position: finding.Position{File: "chart.yaml", Line: 1}},
	}
	components := []model.Component{
		{Name: "b", Environment: "dev", Position: finding.Position{File: "b.yaml", Line: 3}},
	}
	tests := map[string]struct {
		by                   []lint.Suppression
		kept, hidden, unused int
	}{
		"none":                      {kept: 3},
		"a rule everywhere":         {by: []lint.Suppression{{Rule: "cycle", Reason: "r"}}, kept: 1, hidden: 2},
		"without a reason":          {by: []lint.Suppression{{Rule: "cycle"}}, kept: 3, unused: 1},
		"a component":               {by: []lint.Suppression{{Rule: "cycle", Component: "b", Reason: "r"}}, kept: 3, unused: 1},
		"an environment":            {by: []lint.Suppression{{Rule: "cycle", Environments: []string{"dev"}, Reason: "r"}}, kept: 2, hidden: 1},
		"lines":                     {by: []lint.Suppression{{Rule: "cycle", File: "x.yaml", From: 6, To: 7, Reason: "r"}}, kept: 2, hidden: 1},
		"the lines of a definition": {by: []lint.Suppression{{Rule: "unprovided", File: "b.yaml", From: 1, To: 9, Reason: "r"}}, kept: 2, hidden: 1},
		"two for one finding":       {by: []lint.Suppression{{Rule: "unprovided", Reason: "r"}, {Rule: "unprovided", Component: "b", Reason: "r"}}, kept: 2, hidden: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kept, hidden, unused := lint.Suppress(found, test.by, components)
			if diff := cmp.Diff([]int{test.kept, test.hidden, test.unused}, []int{len(kept), len(hidden), len(unused)}); diff != "" {
				t.Errorf("kept, hidden, unused (-want +got):\n%s", diff)
			}
		})
	}
}
