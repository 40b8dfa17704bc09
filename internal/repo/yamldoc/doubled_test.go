package yamldoc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func TestDoubles(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []yamldoc.Double
	}{
		"none":           {"a: 1\nb: {a: 2}\n", nil},
		"at the top":     {"a: 1\nb: 2\na: 3\n", []yamldoc.Double{{"a", 1, 3, false}}},
		"below":          {"x:\n  - {k: 1}\n  - k: 1\n    k: 2\n", []yamldoc.Double{{"k", 3, 4, false}}},
		"three times":    {"a: 1\na: 2\na: 3\n", []yamldoc.Double{{"a", 1, 2, false}, {"a", 1, 3, false}}},
		"the same":       {"a: {x: [1, {y: 2}]}\na: {x: [1, {y: 2}]}\n", []yamldoc.Double{{"a", 1, 2, true}}},
		"more":           {"a: {x: 1}\na: {x: 1, y: 2}\n", []yamldoc.Double{{"a", 1, 2, true}}},
		"less":           {"a: {x: 1, y: 2}\na: {x: 1}\n", []yamldoc.Double{{"a", 1, 2, false}}},
		"another list":   {"a: [1, 2]\na: [1, 2, 3]\n", []yamldoc.Double{{"a", 1, 2, false}}},
		"another type":   {"a: 1\na: '1'\n", []yamldoc.Double{{"a", 1, 2, false}}},
		"through alias":  {"b: &b {x: 1}\na: *b\na: *b\n", []yamldoc.Double{{"a", 2, 3, false}}},
		"does not parse": {"a: 1\na: [\n", nil},
		"empty":          {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, yamldoc.Doubles([]byte(test.text))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
