package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]
`

// TestEndlessTemplates runs templates that would take more time, memory or stack
// than there is. Each is a problem of its component, which names chart and template,
// and the good component beside it is rendered.
func TestEndlessTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	for name, text := range map[string]string{
		"loop over a number":       `{{ range 1000000000 }}{{ end }}`,
		"loop over until":          `{{ range until 1000000000 }}{{ end }}`,
		"loops in loops":           `{{ range until 100000 }}{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}{{ end }}`,
		"include of itself":        `{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`,
		"includes that fan out":    `{{ define "x" }}{{ if lt . 60 }}{{ include "x" (add1 . | int) }}{{ include "x" (add1 . | int) }}{{ end }}{{ end }}{{ include "x" 1 }}`,
		"template of itself":       `{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
		"tpl of itself":            `{{ $t := "{{ tpl .t . }}" }}{{ tpl $t (dict "t" $t) }}`,
		"tpl with a loop":          `{{ tpl "{{ range 1000000000 }}{{ end }}" . }}`,
		"tpl that defines a loop":  `{{ tpl "{{ define \"l\" }}{{ range 1000000000 }}{{ end }}{{ end }}{{ include \"l\" . }}" . }}`,
		"output":                   `{{ range 1000000000 }}xxxxxxxxxxxxxxxx{{ end }}`,
		"repeat":                   `{{ repeat 2000000000 "xx" }}`,
		"doubling text":            `{{ $x := "xx" }}{{ range 60 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`,
		"doubling by cat":          `{{ $x := "xx" }}{{ range 60 }}{{ $x = cat $x $x }}{{ end }}`,
		"doubling list":            `{{ $x := list "x" }}{{ range 60 }}{{ $x = concat $x $x }}{{ end }}`,
		"shared structure as YAML": `{{ $x := list "x" }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}`,
		"shared structure printed": `{{ $x := list "x" }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ print $x }}`,
		"structure in itself":      `{{ $x := dict }}{{ $_ := set $x "x" $x }}{{ print $x }}`,
		"keeping what it makes":    `{{ $d := dict }}{{ range $i := until 100000 }}{{ $_ := set $d (print $i) (repeat 1000000 "x") }}{{ end }}`,
		"replace":                  `{{ $x := repeat 1000000 "a" }}{{ replace "a" $x $x }}`,
		"indent":                   `{{ indent 1000000000 "a" }}`,
		"random":                   `{{ randAlphaNum 1000000000 }}`,
		"untilStep":                `{{ untilStep 0 1000000000 1 }}`,
		"seq":                      `{{ seq 1 1000000000 }}`,
		"mutual templates":         `{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
		"mutual includes":          `{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`,
		"a glob of braces":         `{{ .Files.Glob (repeat 4000000 "{") }}`,
		"TOML of brackets":         `{{ fromToml (printf "x = %s" (repeat 3000000 "[")) }}{{ fail "read" }}`,
		"tpl of conditions":        `{{ tpl (printf "%s%s" (repeat 500000 "{{ if true }}") (repeat 500000 "{{ end }}")) . }}{{ fail "read" }}`,
		"a regular expression":     `{{ regexReplaceAll "(x*)*(x*)*(x*)*y" (repeat 3000000 "x") (repeat 100000 "z") }}{{ fail "read" }}`,
		"keys that derive":         `{{ range 100000 }}{{ genPrivateKey "rsa" }}{{ derivePassword 1 "long" "a" "b" "c" }}{{ end }}`,
		"hashes":                   `{{ range 100000 }}{{ htpasswd "a" "b" }}{{ bcrypt "c" }}{{ end }}`,
		"bomb in fromYaml":         "{{ fromYaml .Values.bomb | toYaml }}{{ range 1000000000 }}{{ end }}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem := beside(t, "-- bad/Chart.yaml --\n{apiVersion: v2, name: shop, version: 1.0.0}\n-- bad/templates/z.yaml --\n"+text+"\n",
				model.Source{Kind: model.Chart, Path: "bad", Values: map[string]any{"bomb": bomb}})
			if !strings.Contains(problem.Reason, "chart shop") {
				t.Errorf("reason %q does not name the chart", problem.Reason)
			}
			if problem.Position.File != "bad/templates/z.yaml" || problem.Position.Line < 1 {
				t.Errorf("position %v", problem.Position)
			}
		})
	}
}

// beside renders a bad component and a good one and returns the problem of the bad.
func beside(t *testing.T, files string, src model.Source) *Error {
	t.Helper()
	dir := t.TempDir()
	extract(t, dir, files+"-- good/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	results := New(dir, dir, Options{Offline: true, NoCache: true, Timeout: 500 * time.Millisecond, MaxOutput: 4 << 20}).All(t.Context(), []model.Component{
		{Name: "bad", Sources: []model.Source{src}, Position: finding.Position{File: "bad/descriptor.yaml", Line: 1}},
		{Name: "good", Sources: []model.Source{{Kind: model.Manifests, Path: "good"}}},
	}, nil)
	if results[1].Err != nil || len(results[1].Objects) != 1 {
		t.Errorf("the good component: %v", results[1].Err)
	}
	var problem *Error
	if !errors.As(results[0].Err, &problem) {
		t.Fatalf("got %v, want an *Error", results[0].Err)
	}
	if strings.Contains(problem.Reason, "goroutine") || strings.Contains(problem.Reason, "\n") || len(problem.Reason) > 2000 {
		t.Errorf("reason of %d bytes: %.300q", len(problem.Reason), problem.Reason)
	}
	t.Logf("%s: %.200s", problem.Position, problem.Reason)
	return problem
}

// TestEndlessFiles are the other things of a repository that grow or loop.
func TestEndlessFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	manifests := model.Source{Kind: model.Manifests, Path: "bad"}
	kustomization := model.Source{Kind: model.Kustomize, Path: "bad"}
	chart := model.Source{Kind: model.Chart, Path: "bad"}
	const meta = "-- bad/Chart.yaml --\n{apiVersion: v2, name: shop, version: 1.0.0}\n"
	// Each level names the one below four times, with other prefixes.
	var nested strings.Builder
	nested.WriteString("-- bad/kustomization.yaml --\nresources: [../l0/a, ../l0/b, ../l0/c, ../l0/d]\n")
	for i := range 12 {
		for _, x := range []string{"a", "b", "c", "d"} {
			resources := "../../x.yaml"
			if i < 11 {
				resources = fmt.Sprintf("../../l%[1]d/a, ../../l%[1]d/b, ../../l%[1]d/c, ../../l%[1]d/d", i+1)
			}
			fmt.Fprintf(&nested, "-- l%d/%s/kustomization.yaml --\nnamePrefix: %s%d-\nresources: [%s]\n", i, x, x, i, resources)
		}
	}
	nested.WriteString("-- x.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n")
	hidden := strings.NewReplacer(": &", ":\u0085&", "[*", "[\u0085*", ",*", ",\u0085*").Replace(bomb)
	// One long text, many times: few values, and much text.
	long := "k: &a " + strings.Repeat("x", 1_000_000) + "\nl: [" + strings.Repeat("*a,", 400) + "*a]\n"
	// The same without aliases: what a template makes is larger than it may be.
	wide := `{{ $x := repeat 100000 "x" }}` + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {{ dict \"a\" $x | toJson }}\n---\n"
	for name, tc := range map[string]struct {
		files string
		src   model.Source
	}{
		"text that aliases repeat":             {"-- bad/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" + long, manifests},
		"repeated text beside a bad object":    {"-- bad/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" + long + "---\n[\n", manifests},
		"repeated text in a kustomization":     {"-- bad/kustomization.yaml --\nresources: []\n" + long, kustomization},
		"repeated text of a kustomization":     {"-- bad/kustomization.yaml --\nresources: [a.yaml]\n-- bad/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: &a " + strings.Repeat("x", 1_000_000) + "\n" + repeated(400), kustomization},
		"repeated text in values":              {meta + "-- bad/values.yaml --\n" + long + "-- bad/templates/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {{ toJson .Values }}\n", chart},
		"objects that are larger than texts":   {meta + "-- bad/templates/a.yaml --\n" + strings.Repeat(wide, 60), chart},
		"aliases":                              {"-- bad/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" + bomb, manifests},
		"aliases behind NEL":                   {"-- bad/a.yaml --\napiVersion: v1\nkind: ConfigMap\n" + hidden, manifests},
		"aliases in a kustomization":           {"-- bad/kustomization.yaml --\nresources: []\n" + bomb, kustomization},
		"aliases in values":                    {meta + "-- bad/values.yaml --\n" + bomb + "-- bad/templates/a.yaml --\n{{ toYaml .Values }}\n", chart},
		"aliases in Chart.yaml":                {"-- bad/Chart.yaml --\nannotations: {x: y}\n" + bomb, chart},
		"brackets":                             {"-- bad/a.yaml --\n" + strings.Repeat("[", 3_000_000) + "\napiVersion: v1\nkind: ConfigMap\n", manifests},
		"Jsonnet that calls itself":            {"-- bad/a.jsonnet --\nlocal f(x) = f(x + 1); f(0)\n", manifests},
		"Jsonnet that calls itself at the end": {"-- bad/a.jsonnet --\nlocal f(x) = f(x + 1) tailstrict; f(0)\n", manifests},
		"Jsonnet that imports itself":          {"-- bad/a.jsonnet --\n(import 'a.jsonnet') + {}\n", manifests},
		"Jsonnet that doubles":                 {"-- bad/a.jsonnet --\n{apiVersion: 'v1', kind: std.foldl(function(a, b) a + a, std.range(1, 60), 'xx')}\n", manifests},
		"Jsonnet that counts":                  {"-- bad/a.jsonnet --\nstd.length([x * y for x in std.range(1, 1000000) for y in std.range(1, 1000000)])\n", manifests},
		"Jsonnet that repeats":                 {"-- bad/a.jsonnet --\nstd.repeat('x', 2000000000)\n", manifests},
		"Jsonnet of brackets":                  {"-- bad/a.jsonnet --\n" + strings.Repeat("[", 3_000_000) + "\n", manifests},
		"Jsonnet that makes an array":          {"-- bad/a.jsonnet --\nstd.makeArray(2000000000, function(i) i)\n", manifests},
		"Jsonnet that formats":                 {"-- bad/a.jsonnet --\n'%2000000000d' % 1\n", manifests},
		"Jsonnet of a regular expression":      {"-- bad/a.jsonnet --\nstd.strReplace(std.repeat('a', 1000000), 'a', std.repeat('a', 1000000))\n", manifests},
		"brackets as JSON":                     {"-- bad/a.json --\n{\"apiVersion\": \"v1\", \"kind\": " + strings.Repeat("[", 3_000_000) + "\n", manifests},
		"a schema that names itself":           {meta + `-- bad/values.schema.json --` + "\n" + `{"allOf": [{"$ref": "#"}, {"$ref": "#"}]}` + "\n", chart},
		"kustomizations that multiply":         {nested.String(), kustomization},
		"a replacement that grows":             {"-- bad/kustomization.yaml --\nresources: [.]\n", kustomization},
		"patches of regular expressions":       {"-- bad/kustomization.yaml --\nresources: [a.yaml]\npatches: [{target: {name: '" + strings.Repeat("(x{1000})", 300) + "{1000}'}, patch: 'a'}]\n-- bad/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", kustomization},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem := beside(t, tc.files, tc.src)
			if problem.Position.Line < 1 || !strings.HasPrefix(problem.Position.File, "bad/") {
				t.Errorf("position %v: %s", problem.Position, problem.Reason)
			}
		})
	}
}

// repeated are keys with the same alias.
func repeated(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  k%d: *a\n", i)
	}
	return b.String()
}
