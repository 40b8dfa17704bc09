package helmfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// repository writes a txtar archive and opens it.
func repository(t testing.TB, archive string) *repofs.Tree {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := repofs.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func load(t testing.TB, archive string, opts helmfile.Options) *helmfile.Result {
	t.Helper()
	if opts.Path == "" {
		opts.Path = "."
	}
	result, err := evaluate.Helmfile(t.Context(), repository(t, archive), opts, limit)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// limit is how much CPU time state files may take here.
const limit = 20 * time.Second

// here reads state files without a worker.
func here(t testing.TB, tree *repofs.Tree, opts helmfile.Options) (*helmfile.Result, error) {
	t.Helper()
	return helmfile.Load(repofs.NewAsked(func(operation string, request []byte) ([]byte, error) {
		answer, _, err := repofs.Answer(t.Context(), tree, operation, request)
		return answer, err
	}), opts)
}

// summary prints releases on one line each.
func summary(r *helmfile.Result) []string {
	var out []string
	for _, env := range r.Environments {
		for _, rel := range env.Releases {
			line := fmt.Sprintf("%s: %s", env.Name, rel.ID())
			switch {
			case rel.Dir != "":
				line += " chart " + rel.Dir
			case rel.ChartName != "":
				line += fmt.Sprintf(" chart %s %s %s", rel.Repository, rel.ChartName, rel.Version)
			}
			if !rel.Installed {
				line += " off"
			}
			for _, n := range rel.Needs {
				if n.Release >= 0 {
					line += " needs " + env.Releases[n.Release].ID()
				}
			}
			for _, l := range rel.Values {
				if l.File != "" {
					line += " file " + l.File
				} else {
					line += fmt.Sprint(" values ", l.Data)
				}
			}
			out = append(out, line)
		}
	}
	return out
}

func problems(r *helmfile.Result) []string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s [%s] %s: %s", p.Position, p.Kind, p.Release, p.Message))
	}
	return out
}

func TestLoad(t *testing.T) {
	tests := map[string]struct {
		archive  string
		options  helmfile.Options
		want     []string
		problems []string
	}{
		"releases, repositories and needs": {
			archive: `
-- helmfile.yaml --
repositories:
  - {name: acme, url: https://charts.acme.example}
  - {name: reg, url: registry.acme.example/charts, oci: true}
releases:
  - {name: db, namespace: data, chart: acme/postgres, version: 1.2.3}
  - {name: web, namespace: apps, chart: reg/team/web, needs: [data/db, cache]}
  - {name: cache, namespace: apps, chart: ./charts/cache}
  - {name: tool, namespace: apps, chart: "oci://ghcr.io/acme/tool:4.5.6"}
-- charts/cache/Chart.yaml --
name: cache
`,
			want: []string{
				"default: data/db chart https://charts.acme.example postgres 1.2.3",
				"default: apps/web chart oci://registry.acme.example/charts/team web  needs data/db needs apps/cache",
				"default: apps/cache chart charts/cache",
				"default: apps/tool chart oci://ghcr.io/acme tool 4.5.6",
			},
		},
		"environments with values, conditions and templates of values": {
			archive: `
-- helmfile.yaml.gotmpl --
environments:
  dev:
    values: [env/dev.yaml, {extra: {enabled: true}}]
  prod:
    values: [env/prod.yaml]
---
releases:
  - name: web
    namespace: {{ .Values.namespace }}
    chart: ./web
    condition: extra.enabled
    values:
      - values/{{ .Environment.Name }}.yaml
      - values/web.yaml.gotmpl
      - replicas: {{ .Values | get "replicas" 1 }}
  - name: only-prod
    namespace: x
    chart: ./web
    installed: {{ eq .Environment.Name "prod" }}
-- env/dev.yaml --
namespace: dev-ns
-- env/prod.yaml --
namespace: prod-ns
replicas: 3
extra: {enabled: false}
-- values/dev.yaml --
a: 1
-- values/prod.yaml --
a: 2
-- values/web.yaml.gotmpl --
name: {{ .Release.Name }}.{{ .Release.Namespace }}
-- web/Chart.yaml --
name: web
`,
			want: []string{
				"dev: dev-ns/web chart web file values/dev.yaml values map[name:web.dev-ns] values map[replicas:1]",
				"dev: x/only-prod chart web off",
				"prod: prod-ns/web chart web off file values/prod.yaml values map[name:web.prod-ns] values map[replicas:3]",
				"prod: x/only-prod chart web",
			},
		},
		"bases, templates to inherit and texts that are templates": {
			archive: `
-- helmfile.yaml --
bases: [base.yaml]
releases:
  - name: a
    inherit: [{template: default}]
  - name: b
    inherit: [{template: default, except: [values]}]
    values: [{own: true}]
    needs: ["a"]
-- base.yaml --
templates:
  default:
    namespace: apps
    chart: ./charts/{{ .Release.Name }}
    values: ["values/{{` + "`{{ .Release.Name }}`" + `}}.yaml"]
-- charts/a/Chart.yaml --
name: a
-- charts/b/Chart.yaml --
name: b
-- values/a.yaml --
x: 1
`,
			want: []string{
				"default: apps/a chart charts/a file values/a.yaml",
				"default: apps/b chart charts/b needs apps/a values map[own:true]",
			},
		},
		"a file that is a template before 1.0, with the environment it defines itself": {
			archive: `
-- helmfile.yaml --
environments:
  default:
    values: [{version: 1.0.0}]

releases:
  - name: a
    namespace: x
    chart: oci://r.example/a
    version: {{ .Values.version }}
{{ if eq .Environment.Name "default" }}
  - name: b
    namespace: x
    chart: oci://r.example/b
{{ end }}
`,
			want:     []string{"default: x/a chart oci://r.example a 1.0.0", "default: x/b chart oci://r.example b "},
			problems: []string{"helmfile.yaml:1 [template] : the file is read as a template, as Helmfile before 1.0 does; 1.0 wants the ending .gotmpl"},
		},
		"what is not known is left out and told by its line": {
			archive: `
-- helmfile.yaml.gotmpl --
releases:
  - name: a
    namespace: x
    chart: oci://r.example/a
    version: {{ requiredEnv "A_VERSION" }}
    installed: {{ env "A" | eq "1" }}
    values:
      - token: {{ exec "vault" (list "read" "secret/x") | quote }}
        host: {{ env "HOST" | default "localhost" | upper }}.example
        kept: {{ "a" | upper }}
        list: [ok, {{ randAlphaNum 8 }}]
        missing: {{ .Values.domain.name }}
        ref: ref+vault://secret/x#y
`,
			want: []string{"default: x/a chart oci://r.example a  off values map[kept:A]"},
			problems: []string{
				"helmfile.yaml.gotmpl:5 [template] a: the field is left out: it reads the variable A_VERSION of the environment",
				"helmfile.yaml.gotmpl:6 [template] a: installed is not known: it reads the variable A of the environment; the release is written as disabled",
				`helmfile.yaml.gotmpl:8 [template] a: the value token is left out: it runs the command "vault"`,
				"helmfile.yaml.gotmpl:9 [template] a: the value host is left out: it reads the variable HOST of the environment",
				"helmfile.yaml.gotmpl:11 [template] a: the value list[1] is left out: randAlphaNum gives something else each time",
				"helmfile.yaml.gotmpl:12 [template] a: the value missing is left out: the values of the environment have no domain.name",
				"helmfile.yaml.gotmpl:13 [secret] a: the value ref is left out: it refers to a store of secrets (ref+vault)",
			},
		},
		"variables that are given": {
			archive: `
-- helmfile.yaml.gotmpl --
releases:
{{- if env "WITH" }}
  - {name: a, namespace: x, chart: oci://r.example/a, version: {{ requiredEnv "V" | quote }}}
{{- end }}
`,
			options: helmfile.Options{Variables: map[string]string{"WITH": "1", "V": "7"}},
			want:    []string{"default: x/a chart oci://r.example a 7"},
		},
		"what an unknown value decides makes the file unreadable": {
			archive: `
-- helmfile.yaml.gotmpl --
releases:
  - {name: a, namespace: x, chart: oci://r.example/a}
{{ if and true (env "WITH") }}
  - {name: b, namespace: x, chart: oci://r.example/b}
{{ end }}
`,
			problems: []string{"helmfile.yaml.gotmpl:3 [template] : the template cannot be evaluated, since what it decides by is not known: it reads the variable WITH of the environment"},
		},
		"secrets, hooks and patches are listed": {
			archive: `
-- helmfile.yaml --
environments:
  default:
    secrets: [secrets.yaml]
---
repositories:
  - {name: private, url: "https://robot:CANARY@charts.example.org", username: robot, password: CANARY}
releases:
  - name: a
    namespace: x
    chart: private/a
    secrets: [own.yaml]
    values: [encrypted.yaml]
    hooks:
      - {events: [presync], command: ./run.sh, args: [CANARY]}
    strategicMergePatches: [{kind: X}]
    kubeContext: east
-- secrets.yaml --
password: ENC[AES256_GCM,data:CANARY,type:str]
sops: {mac: x}
-- own.yaml --
x: CANARY
-- encrypted.yaml --
password: ENC[AES256_GCM,data:CANARY,type:str]
`,
			want: []string{"default: east/x/a chart https://charts.example.org a "},
			problems: []string{
				"helmfile.yaml:3 [secret] : the encrypted values of secrets.yaml are not carried over",
				"helmfile.yaml:6 [secret] : the credentials of the repository private are not carried over",
				"helmfile.yaml:6 [secret] : the credentials in the address of the repository private are not carried over",
				"helmfile.yaml:12 [secret] a: the encrypted values of encrypted.yaml are not carried over",
				"helmfile.yaml:11 [secret] a: the encrypted values of own.yaml are not carried over",
				`helmfile.yaml:14 [hook] a: the hook that runs "run.sh" at presync is not carried over`,
				"helmfile.yaml:15 [patch] a: strategicMergePatches is not carried over",
				`helmfile.yaml:16 [option] a: the context "east" is not carried over`,
			},
		},
		"encrypted values of an environment are unknown where they are used": {
			archive: `
-- helmfile.yaml.gotmpl --
environments:
  default:
    secrets: [secrets.yaml]
---
releases:
  - name: a
    namespace: x
    chart: oci://r.example/a
    values:
      - db: {user: app, password: {{ .Values.db.password }}}
-- secrets.yaml --
db:
  password: ENC[AES256_GCM,data:CANARY,type:str]
sops: {mac: x}
`,
			want: []string{"default: x/a chart oci://r.example a  values map[db:map[user:app]]"},
			problems: []string{
				"helmfile.yaml.gotmpl:3 [secret] : the encrypted values of secrets.yaml are not carried over",
				"helmfile.yaml.gotmpl:10 [template] a: the value db.password is left out: its value is in the encrypted file secrets.yaml",
			},
		},
		"needs that nothing answers": {
			archive: `
-- helmfile.yaml --
releases:
  - {name: a, namespace: x, chart: oci://r.example/a, needs: [y/b, a2]}
  - {name: b, namespace: x, chart: oci://r.example/b}
`,
			want: []string{"default: x/a chart oci://r.example a ", "default: x/b chart oci://r.example b "},
			problems: []string{
				"helmfile.yaml:2 [needs] a: x/a needs y/b, which no state file defines",
				"helmfile.yaml:2 [needs] a: x/a needs a2, which no state file defines",
			},
		},
		"files that are not there, and charts that would be fetched": {
			archive: `
-- helmfile.yaml --
helmfiles: ["nothing/*.yaml", "git::https://example.org/x.git@helmfile.yaml"]
releases:
  - {name: a, namespace: x, chart: ./none, values: [none.yaml, {a: 1}]}
  - {name: b, namespace: x, chart: "git::https://u:CANARY@example.org/x.git//chart", missingFileHandler: Warn, values: [none.yaml]}
  - {name: c, namespace: x, chart: nobody/c}
`,
			want: []string{"default: x/a values map[a:1]", "default: x/b", "default: x/c"},
			problems: []string{
				"helmfile.yaml:1 [file-missing] : no state file matches nothing/*.yaml",
				"helmfile.yaml:1 [remote] : the state file git::https://example.org/x.git@helmfile.yaml would have to be fetched",
				"helmfile.yaml:3 [file-missing] a: there is no chart none",
				"helmfile.yaml:3 [file-missing] a: there is no file of values none.yaml",
				"helmfile.yaml:4 [remote] b: the chart git::https://***@example.org/x.git//chart would have to be fetched",
				`helmfile.yaml:5 [invalid] c: the state file has no repository "nobody"`,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := load(t, test.archive, test.options)
			if want, err := here(t, repository(t, test.archive), helmfile.Options{Path: ".", Variables: test.options.Variables}); err != nil || !cmp.Equal(want, r) {
				t.Errorf("something is lost on the way from the worker: %v %s", err, cmp.Diff(want, r))
			}
			if diff := cmp.Diff(test.want, summary(r)); diff != "" {
				t.Error("releases", diff)
			}
			got := problems(r)
			if diff := cmp.Diff(test.problems, got); diff != "" {
				t.Error("problems", diff)
			}
			if strings.Contains(strings.Join(got, "\n"), "CANARY") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestOrderOfFiles(t *testing.T) {
	ranks := func(r *helmfile.Result) map[string]int {
		out := map[string]int{}
		for _, g := range r.Groups {
			out[g.Name] = g.Rank
		}
		return out
	}
	release := func(name string) string {
		return "releases:\n  - {name: " + name + ", namespace: x, chart: oci://r.example/x}\n"
	}
	tests := map[string]struct {
		archive string
		want    map[string]int
	}{
		"numbers, not letters, order the files of helmfile.d": {
			"-- helmfile.d/100-last.yaml --\n" + release("c") + "-- helmfile.d/20-second.yaml --\n" + release("b") + "-- helmfile.d/9-first.yaml --\n" + release("a"),
			map[string]int{"9-first": 0, "20-second": 1, "100-last": 2},
		},
		"files of one number, and those without, have no order among them": {
			"-- helmfile.d/10-a.yaml --\n" + release("a") + "-- helmfile.d/10-b.yaml --\n" + release("b") + "-- helmfile.d/z.yaml --\n" + release("c") + "-- helmfile.d/y.yaml --\n" + release("d"),
			map[string]int{"10-a": 0, "10-b": 0, "y": 1, "z": 1},
		},
		"what is included comes first, entry by entry": {
			"-- helmfile.yaml --\nhelmfiles: [z.yaml, {path: a.yaml}]\n" + release("own") + "-- z.yaml --\n" + release("z") + "-- a.yaml --\n" + release("a"),
			map[string]int{"z": 0, "a": 1, "helmfile": 2},
		},
		"files that one pattern finds are together, unless they are numbered": {
			"-- helmfile.yaml --\nhelmfiles: [apps/*/helmfile.yaml, num/*.yaml]\n-- apps/a/helmfile.yaml --\n" + release("a") + "-- apps/b/helmfile.yaml --\n" + release("b") +
				"-- num/2-x.yaml --\n" + release("x") + "-- num/1-y.yaml --\n" + release("y"),
			map[string]int{"a": 0, "b": 0, "1-y": 1, "2-x": 2, "helmfile": 3},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ranks(load(t, test.archive, helmfile.Options{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	r := load(t, `
-- helmfile.yaml --
helmfiles:
  - {path: sub.yaml, selectors: ["tier=web,name!=b", "name=d"]}
-- sub.yaml --
releases:
  - {name: a, namespace: x, chart: oci://r.example/x, labels: {tier: web}}
  - {name: b, namespace: x, chart: oci://r.example/x, labels: {tier: web}}
  - {name: c, namespace: x, chart: oci://r.example/x, labels: {tier: data}}
  - {name: d, namespace: x, chart: oci://r.example/x}
`, helmfile.Options{})
	if diff := cmp.Diff([]string{"default: x/a chart oci://r.example x ", "default: x/d chart oci://r.example x "}, summary(r)); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct{ archive, want string }{
		"nothing to read":                {"-- a.txt --\nx\n", "holds no state file of Helmfile"},
		"a file that includes itself":    {"-- helmfile.yaml --\nhelmfiles: [helmfile.yaml]\n", "includes itself"},
		"an environment that is nowhere": {"-- helmfile.yaml --\nenvironments: {dev: {}}\nreleases: []\n", `no state file has the environment "nope"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := helmfile.Options{Path: "."}
			if strings.Contains(test.want, "nope") {
				options.Environments = []string{"nope"}
			}
			_, err := evaluate.Helmfile(t.Context(), repository(t, test.archive), options, limit)
			var input *repofs.InputError
			if !errors.As(err, &input) || !strings.Contains(input.Message, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// FuzzLoad: whatever the files, reading ends, and every problem has a place.
func FuzzLoad(f *testing.F) {
	f.Add("releases: [{name: a, chart: ./x, needs: [b]}]\n", "a: 1\n")
	f.Add("environments: {default: {values: [v.yaml.gotmpl]}}\n---\nreleases:\n  - name: {{ .Values.a }}\n    chart: x/y\n    installed: {{ env \"X\" }}\n", "a: {{ .Environment.Name }}\n")
	f.Add("bases: [v.yaml.gotmpl]\nhelmfiles: [v.yaml.gotmpl, helmfile.yaml.gotmpl]\n", "templates: {t: {inherit: [{template: t}]}}\nreleases: [{name: a, inherit: [{template: t}]}]\n")
	f.Add("{{ range until 100000 }}{{ end }}", "{{ tpl . . }}")
	f.Add("releases:\n- name: x\n  values: [v.yaml.gotmpl]\n  set: [{name: a, values: [1]}]\n  hooks: [{}]\n", "&a [*a]")
	f.Fuzz(func(t *testing.T, state, values string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"helmfile.yaml.gotmpl": state, "v.yaml.gotmpl": values} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := repofs.Discover(dir)
		if err != nil {
			t.Fatal(err)
		}
		result, err := evaluate.Helmfile(t.Context(), tree, helmfile.Options{Path: "."}, 2*time.Second)
		if err != nil {
			if len(repofs.InputErrors(err)) == 0 {
				t.Fatalf("an error that is not about the input: %v", err)
			}
			return
		}
		for _, p := range result.Problems {
			if strings.ContainsRune(p.Message, '\uE0F0') || p.Message == "" {
				t.Fatalf("a message with a mark, or without a text: %q", p.Message)
			}
		}
		for _, env := range result.Environments {
			for _, r := range env.Releases {
				if text := fmt.Sprintf("%#v", r); strings.ContainsRune(text, '\uE0F0') && !strings.ContainsRune(state+values, '\uE0F0') {
					t.Fatalf("a mark is left in a release: %s", text)
				}
			}
		}
	})
}
