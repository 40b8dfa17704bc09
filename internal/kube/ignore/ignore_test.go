package ignore

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	if err := Check(Rule{Group: "*.example.com", Kind: "{A,B}", JQ: []string{".spec.a[] | select(.x == 1)"}}); err != nil {
		t.Error(err)
	}
	for want, r := range map[string]Rule{
		"group [a":                {Group: "[a"},
		"kind [b":                 {Kind: "[b"},
		"jq expression .a[: ":     {JQ: []string{".a", ".a["}},
		"jq expression $ENV.PATH": {JQ: []string{"$ENV.PATH | error | input"}},
	} {
		if err := Check(r); err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 2*maxTold {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestMatching(t *testing.T) {
	rules := []Rule{{Group: "apps", Kind: "Deployment"}, {Group: "*", Kind: "*"}, {Kind: "Deployment"}, {Group: "[a", Kind: "*"}, {Group: "app?", Kind: "De*"}}
	if diff := cmp.Diff([]int{0, 1, 4}, Matching(rules, "apps", "Deployment")); diff != "" {
		t.Error(diff)
	}
}

func TestWithout(t *testing.T) {
	object := map[string]any{"spec": map[string]any{"a": int64(1), "b": []any{"x", "y"}}}
	got, err := Without([]string{".spec.a", ".spec.a[]", ".spec.b[0]", "1 | error"}, object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"b": []any{"y"}}}, got); diff != "" {
		t.Error(diff)
	}
	for want, expression := range map[string]string{"jq expression .spec[: ": ".spec[", "jq expression def f: f; f: ran longer than 1s": "def f: f; f"} {
		if _, err := Without([]string{expression}, object); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", expression, err)
		}
	}
}
