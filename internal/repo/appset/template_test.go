package appset

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func engineOf(t testing.TB, spec string) *engine {
	t.Helper()
	v, err := yamldoc.ParseOne("spec", []byte(spec))
	if err != nil {
		t.Fatal(err)
	}
	return newEngine(v)
}

func TestClassicTemplates(t *testing.T) {
	p := map[string]any{"path": "a/b", "path[0]": "a", "values.x": "y", "number": 3.0, "nested": "{{path}}"}
	for text, want := range map[string]string{
		"plain":                       "plain",
		"{{path}}":                    "a/b",
		"{{ path }}-{{path[0]}}":      "a/b-a",
		"{{values.x}}{{values.none}}": "y{{values.none}}",
		"{{ number }}":                "{{ number }}", // only texts are filled in
		"{{nested}}":                  "{{path}}",     // once
		"{}{{}}":                      "{}{{}}",
	} {
		got, err := engineOf(t, "{}").text(text, p)
		if err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := engineOf(t, "{}").text("{{ path", p); err == nil {
		t.Error("an open {{ is accepted")
	}
}

func TestGoTemplateFunctions(t *testing.T) {
	p := map[string]any{"name": "Feature/My_Branch", "list": []any{"a", "b"}, "map": map[string]any{"b": 2.0, "a": "x"}}
	for text, want := range map[string]string{
		`{{ normalize .name }}`:                                              "feature-my-branch",
		`{{ slugify 10 true .name }}`:                                        "feature-my",
		`{{ slugify 9 true .name }}`:                                         "feature",
		`{{ slugify 9 false .name }}`:                                        "feature-m",
		`{{ slugify .name }}`:                                                "feature-my-branch",
		`{{ toYaml .map }}`:                                                  "a: x\nb: 2",
		`{{ (fromYaml "a: {b: 1}").a.b }}`:                                   "1",
		`{{ index (fromYamlArray "[x, y]") 1 }}`:                             "y",
		`{{ keys .map }} {{ values .map }}`:                                  "[a b] [x 2]",
		`{{ range $i, $x := .list }}{{ $i }}{{ $x }}{{ end }}`:               "0a1b",
		`{{ .none }}`:                                                        "<no value>",
		`{{ default "d" .none }}`:                                            "d",
		`{{ printf "%03d" 7 }}`:                                              "007",
		`{{ define "x" }}[{{ . }}]{{ end }}{{ template "x" .name }}`:         "[Feature/My_Branch]",
		`{{ if and (eq 1 1) (contains "My" .name) }}yes{{ end }}`:            "yes",
		`{{ splitList "/" .name | last | lower | replace "_" "-" }}`:         "my-branch",
		`{{ "x" | b64enc }} {{ sha256sum "x" | trunc 4 }} {{ "a" | quote }}`: `eA== 2d71 "a"`,
	} {
		got, err := engineOf(t, "goTemplate: true").text(text, p)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

// TestRefused are functions that reach out, that are not steady, and mistakes.
func TestRefused(t *testing.T) {
	for _, text := range []string{
		`{{ env "HOME" }}`, `{{ expandenv "$HOME" }}`, `{{ getHostByName "example.org" }}`,
		`{{ now }}`, `{{ uuidv4 }}`, `{{ genPrivateKey "rsa" }}`,
		`{{ fail "no" }}`, `{{ index .none 3 }}`, `{{ .x | nosuch }}`, `{{`,
	} {
		if got, err := engineOf(t, "goTemplate: true").text(text, map[string]any{}); err == nil {
			t.Errorf("%s is accepted: %.60q", text, got)
		}
	}
}

func FuzzSelector(f *testing.F) {
	f.Add("selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: NotIn, values: [d]}]}", "a=b,c=d")
	f.Add("selector: {matchExpressions: [{key: c, operator: Exists}, {key: n, operator: Gt, values: ['3']}]}", "n=4,c=")
	f.Add("selector: {}", "")
	f.Fuzz(func(t *testing.T, text, labels string) {
		v, err := yamldoc.ParseOne("f", []byte(text))
		if err != nil {
			return
		}
		s, problem := parseSelector(v)
		if problem != nil {
			if problem.Position.File == "" || problem.Message == "" {
				t.Fatalf("no place: %#v", problem)
			}
			return
		}
		m := map[string]string{}
		for pair := range strings.SplitSeq(labels, ",") {
			key, value, _ := strings.Cut(pair, "=")
			m[key] = value
		}
		// A selector is the conjunction of its parts.
		all := true
		for _, r := range s {
			all = all && Selector{r}.Matches(m)
		}
		if s.Matches(m) != all {
			t.Fatalf("%v and its parts disagree on %v", s, m)
		}
	})
}

func TestGitPattern(t *testing.T) {
	for pattern, files := range map[string]map[string]bool{
		"apps/*/config.json":  {"apps/a/config.json": true, "apps/a/b/config.json": true, "apps/config.json": false},
		"apps/**/config.json": {"apps/a/config.json": true, "apps/config.json": false},
		"apps":                {"apps/a/b": true, "apps": true, "apps2/a": false},
		"a?.yaml":             {"ab.yaml": true, "a/.yaml": true, "a.yaml": false},
		"[!a]x":               {"bx": true, "ax": false},
		"/apps/x.(1)+":        {"apps/x.(1)+": true},
	} {
		re, err := GitPattern(pattern)
		if err != nil {
			t.Fatal(pattern, err)
		}
		for file, want := range files {
			if re.MatchString(file) != want {
				t.Errorf("%s on %s: %v", pattern, file, !want)
			}
		}
	}
}
