package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// elsewhere are the commands that start a plane, which needs the binary itself: test/e2e
// runs them.
var elsewhere = map[string]bool{"ladder rehearse": true, "ladder plane up": true, "ladder smoke": true, "ladder bootstrap": true}

// arguments are what the words in the usage of a command stand for; a command with
// another word has to be added here.
func arguments(t *testing.T, cmd *cobra.Command, dir string, names []string) [][]string {
	t.Helper()
	_, words, _ := strings.Cut(cmd.Use, " ")
	switch words {
	case "", "[NAME]", "[ENTRY...]":
		return [][]string{{}}
	case "[PATH]":
		return [][]string{{dir}}
	case "A B [PATH]":
		return [][]string{{names[0], names[1], dir}}
	case "CHART", "ENTRY", "REPORT...":
		return [][]string{{names[0]}}
	case "BEFORE AFTER":
		return [][]string{{names[0], names[1]}}
	}
	var all [][]string
	for _, name := range names {
		switch {
		case strings.Contains(words, "COMPONENT"), strings.HasPrefix(words, "NAME [PATH]"):
			all = append(all, []string{name, dir}, []string{name + "->" + names[0], dir})
		case strings.Contains(words, "PHASE"), strings.Contains(words, "STEP"), strings.Contains(words, "|"):
			all = append(all, []string{name})
		default:
			t.Fatalf("%s: the test does not know what %q is", cmd.CommandPath(), words)
		}
	}
	return all
}

// outputs runs every command in every format about a platform, as every kind of job
// would, and shows what it writes: its streams, its files, its summaries.
func outputs(t *testing.T, dir string, names []string, check func(what, format, text string)) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	run := func(format string, environment map[string]string, args ...string) {
		var out, problems bytes.Buffer
		code := Main("ladder", args, "test", &stream.Streams{In: strings.NewReader(""), Out: &out, Err: &problems, Getenv: func(name string) string { return environment[name] }})
		what := fmt.Sprintf("ladder %q (%d)", args, code)
		check(what, format, out.String())
		check("stderr of "+what, "", problems.String())
	}
	root := NewRoot("ladder", "test", &stream.Streams{Getenv: func(string) string { return "" }})
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		if !cmd.Runnable() || cmd.Hidden || !cmd.HasParent() || elsewhere[cmd.CommandPath()] || cmd.Name() == "help" || strings.Contains(cmd.CommandPath(), "completion") {
			return
		}
		formats := []string{""}
		if f := cmd.Flags().Lookup("format"); f != nil {
			_, list, _ := strings.Cut(f.Usage, ": ")
			list, _, _ = strings.Cut(list, " (")
			formats = strings.Split(list, ", ")
		}
		for _, args := range arguments(t, cmd, dir, names) {
			base := append(strings.Fields(cmd.CommandPath())[1:], args...)
			for _, given := range []string{
				"--offline", "--kubeconfig=" + filepath.Join(dir, "none"), "--out=" + filepath.Join(home, "out"), "--dry-run", "--fail-on=none",
				"--type=runtime", "--domain=platform", "--verbose", "--severity=info",
			} {
				flag, _, _ := strings.Cut(strings.TrimPrefix(given, "--"), "=")
				if cmd.Flags().Lookup(flag) != nil || cmd.InheritedFlags().Lookup(flag) != nil {
					base = append(base, given)
				}
			}
			for _, format := range formats {
				full := base
				if format != "" {
					full = append(full[:len(full):len(full)], "--format", format)
				}
				run(format, nil, full...)
			}
			run(formats[0], map[string]string{"GITHUB_ACTIONS": "true", "CI": "true", "CLICOLOR_FORCE": "1"}, append(base[:len(base):len(base)], "--progress", "plain")...)
		}
	}
	visit(root)
	for _, more := range [][]string{
		{"lint", dir, "--offline", "--fix", "--dry-run"}, {"plan", dir, "--offline", "--compare"}, {"plan", dir, "--offline", "--suggest"},
		{"lint", dir, "--offline", "--progress", "json"}, {"lint", dir, "--offline", "-e", "all"}, {"lint", dir, "--rules", names[0]}, {"plan", dir, "-e", names[0]},
		{"lint", filepath.Join(dir, names[0])}, {"render", names[0], dir, "--offline"}, {names[0]}, {"lint", "--" + names[0]},
	} {
		run("", nil, more...)
	}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		check(path, "file", string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// extract writes an archive to a folder.
func extract(t *testing.T, dir, archive string, replace func(string) string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, replace(f.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(replace(string(f.Data))), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// hostile is a platform whose names and texts carry what E stands for: characters
// that control terminals, and commands to CI systems.
const hostile = `
-- root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root}
spec:
  source: {repoURL: https://example.org/this.git, path: apps}
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
-- apps/all.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: good, annotations: {argocd.argoproj.io/sync-wave: "E"}, labels: {"E": "E"}}
spec:
  project: "pE"
  source: {repoURL: https://example.org/this.git, path: good}
  destination: {server: https://kubernetes.default.svc, namespace: "nE"}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: "::error::first", annotations: {argocd.argoproj.io/sync-wave: "3"}}
spec:
  source: {repoURL: https://example.org/this.git, path: good}
  destination: {server: https://kubernetes.default.svc, namespace: one}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: "##vso[task.complete]x", annotations: {argocd.argoproj.io/sync-wave: "4"}}
spec:
  source: {repoURL: https://example.org/this.git, path: one}
  destination: {server: https://kubernetes.default.svc, namespace: one}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: "bE", annotations: {argocd.argoproj.io/sync-wave: 3}}
spec:
  source: {repoURL: "https://example.org/this.git", path: "no/E"}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: chart}
spec:
  source: {repoURL: https://example.org/this.git, path: chart, helm: {values: "message: E", valueFiles: ["E"], parameters: [{name: "E", value: "E"}]}}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: fails}
spec:
  source: {repoURL: https://example.org/this.git, path: chart, helm: {values: "{message: \"E\"}"}}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: built}
spec:
  source: {repoURL: https://example.org/this.git, path: built}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: remote}
spec:
  source: {repoURL: "https://exampleE.org/x.git", chart: "cE", targetRevision: "1E"}
  destination: {server: "https://E", namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: "setE"}
spec:
  goTemplate: true
  generators: [{list: {elements: [{name: "xE"}]}}]
  template:
    metadata: {name: '{{ .name }}'}
    spec: {source: {repoURL: https://example.org/this.git, path: '{{ fail .name }}'}, destination: {namespace: s, server: https://kubernetes.default.svc}}
-- good/all.yaml --
apiVersion: v1
kind: Secret
metadata: {name: db, annotations: {"argocd.argoproj.io/sync-wave": "5", "reflector.v1.k8s.emberstack.com/reflects": "E"}}
stringData: {"E": "E"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: x, annotations: {argocd.argoproj.io/sync-wave: "2", "E": "E"}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: "sE"
      containers:
        - name: x
          image: "iE"
          envFrom: [{secretRef: {name: db}}, {secretRef: {name: "sE"}}, {configMapRef: {name: "cE"}}]
          env: [{name: "E", value: "E"}, {name: P, valueFrom: {secretKeyRef: {name: db, key: "kE"}}}]
-- good/E.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: filed}
data:
  script: |
    x
    ::error::y
    ##vso[task.x]z
-- one/E.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "nE"}
-- chart/Chart.yaml --
{apiVersion: v2, name: c, version: 1.0.0, description: "E"}
-- chart/values.yaml --
message: "E"
-- chart/templates/all.yaml --
{{ fail .Values.message }}
-- built/kustomization.yaml --
resources: ["E.yaml"]
secretGenerator: [{name: x, literals: ["E"]}]
-- helmfile.yaml --
releases: [{name: "rE", chart: "cE", namespace: "nE", values: ["E"], needs: ["E"]}]
-- flux.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: "rE", namespace: "nE"}
spec: {chart: {spec: {chart: "cE", sourceRef: {kind: "kE", name: "nE"}}}, dependsOn: [{name: "E"}]}
`

// described is the same as a platform of descriptors.
const described = `
-- environments/dev/components/good/component.yaml --
name: good
namespace: a
rolloutPhase: "150"
manifests: {path: good}
requires: ["E"]
"E": "E"
-- environments/dev/components/one/component.yaml --
name: "oE"
namespace: "nE"
rolloutPhase: "2E"
manifests: {path: "E"}
gate: "E"
-- environments/dev/components/E/component.yaml --
name: filed
namespace: a
rolloutPhase: "E"
manifests: {path: good}
-- environments/dev/components/first/component.yaml --
name: "::error::first"
namespace: a
rolloutPhase: "350"
manifests: {path: good}
gate: "E"
-- good/all.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: x, image: "iE", envFrom: [{secretRef: {name: "sE"}}]}]}
`

// carried are what the names carry, as YAML writes it in double quotes and as files
// are named.
var carried = map[string][2]string{
	"what steers":   {`\e[2J\e]0;t\a\r::error::x\N::error::y\L::error::z\P\u202Ea\u2066b\u200F\u009b31m\x7f`, "\x1b[2J\a\r::error::x\u0085\u2028::error::y\u202e\u009b31m"},
	"what commands": {`\n::warning::x\n \t\_\u3000::add-mask::y\n##vso[task.x]y ##[error]z ##teamcity[x]`, "\n::warning::x\n##vso[task.x]y"},
	"at the start":  {`::error::x`, "::error::x"},
	"markup":        {`|x|<script>\"y\"]\n%%{init}%%\n--> end`, "|x|<b>]"},
}

// commanding finds what a CI system takes for a command.
var commanding = regexp.MustCompile(`(?m)^[\s\p{Z}]*::.*|##\pL*\[.*`)

// given are the commands that Ladder gives itself.
var given = regexp.MustCompile(`^::((error|warning|notice) (file|title)=\S|group::|endgroup::$)`)

// colours are those that Ladder writes.
var colours = regexp.MustCompile(`\x1b\[(0|1|2|31|32|33|36)m`)

func wantHarmless(t *testing.T, what, format, text string) {
	t.Helper()
	plain := text
	if strings.Contains(what, "--progress") {
		plain = colours.ReplaceAllString(text, "")
	}
	if i := strings.IndexFunc(plain, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	}); i >= 0 || !utf8.ValidString(plain) {
		t.Errorf("%s: control character in %q", what, around(plain, i))
	}
	for _, line := range commanding.FindAllString(plain, -1) {
		if !given.MatchString(line) || !strings.Contains(what, "github") && !strings.Contains(what, "--progress") {
			t.Errorf("%s: command %q", what, line)
		}
	}
	if text == "" {
		return
	}
	switch format {
	case "json", "sarif":
		if err := json.Unmarshal([]byte(text), new(any)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case "svg", "junit":
		decoder := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("%s: %v", what, err)
				break
			}
		}
	}
}

func around(text string, i int) string {
	return text[max(0, i-60):min(len(text), max(i, 0)+60)]
}

// TestNothingSteers: whatever names hold, no output of any command steers a terminal
// or a CI system.
func TestNothingSteers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command in every format")
	}
	for platform, archive := range map[string]string{"Argo CD": hostile, "descriptors": described} {
		for name, e := range carried {
			t.Run(platform+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				extract(t, dir, archive, func(text string) string {
					as := e[0]
					if !strings.Contains(text, "\n") {
						as = strings.ReplaceAll(e[1], "/", "")
					}
					return regexp.MustCompile(`\bE\b|([a-z0-9])E\b`).ReplaceAllStringFunc(text, func(m string) string { return strings.TrimSuffix(m, "E") + as })
				})
				if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
					t.Fatal(err)
				}
				names := []string{"good", e[1], "b" + e[1], "::error::first"}
				outputs(t, dir, names, func(what, format, text string) {
					if format != "file" {
						wantHarmless(t, what, format, text)
					}
				})
			})
		}
	}
}

// TestFindingsAreLines: one finding is one line, whatever its names hold.
func TestFindingsAreLines(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, described, func(text string) string { return strings.ReplaceAll(text, "E", carried["command"][0]) })
	var out, problems bytes.Buffer
	Main("ladder", []string{"lint", dir, "--offline", "--severity", "info"}, "test", &stream.Streams{Out: &out, Err: &problems, Getenv: func(string) string { return "" }})
	for _, line := range strings.Split(out.String(), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), ":") {
			t.Errorf("%q begins with what a name holds:\n%s", line, out.String())
		}
	}
}

const canary = "canary-7Qv9xK2mB4sT"

// secretive are inputs that fail, each with a secret.
const secretive = `
-- root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root}
spec:
  source: {repoURL: https://example.org/this.git, path: apps}
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
-- apps/set.yaml --
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set}
spec:
  goTemplate: true
  goTemplateOptions: ["missingkey=error"]
  generators: [{list: {elements: [{name: x, password: CANARY}]}}]
  template:
    metadata: {name: '{{ .name }}'}
    spec: {source: {repoURL: https://example.org/this.git, path: '{{ fail .password }}'}, destination: {namespace: s, server: https://kubernetes.default.svc}}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: files}
spec:
  goTemplate: true
  generators: [{git: {repoURL: https://example.org/this.git, files: [{path: config.json}, {path: broken.json}]}}]
  template:
    metadata: {name: files}
    spec: {source: {repoURL: https://example.org/this.git, path: '{{ .password | int | list | fail }}{{ template .password }}'}, destination: {namespace: s, server: https://kubernetes.default.svc}}
---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: patched}
spec:
  goTemplate: true
  generators: [{list: {elements: [{name: x, password: CANARY}]}}]
  templatePatch: "a: {{ .password | atoi | fail }}\nb: *{{ .password }}"
  template:
    metadata: {name: patched}
    spec: {source: {repoURL: https://example.org/this.git, path: good}, destination: {namespace: s, server: https://kubernetes.default.svc}}
-- apps/broken.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: broken}
spec:
  source: {repoURL: https://example.org/this.git, path: good, helm: {values: "password: *CANARY"}}
-- apps/unreadable.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: unreadable}
spec:
  source: {helm: {parameters: [{name: password, value: *CANARY}]}}
-- apps/apps.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: chart}
spec:
  source: {repoURL: https://example.org/this.git, path: chart, helm: {values: "password: CANARY"}}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: schema}
spec:
  source: {repoURL: https://example.org/this.git, path: schema, helm: {parameters: [{name: password, value: CANARY}]}}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: kustomized}
spec:
  source: {repoURL: https://example.org/this.git, path: kustomized}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: replaced}
spec:
  source: {repoURL: https://example.org/this.git, path: replaced}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: plain}
spec:
  source: {repoURL: https://example.org/this.git, path: plain}
  destination: {server: https://kubernetes.default.svc, namespace: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: good}
spec:
  source: {repoURL: https://example.org/this.git, path: good}
  destination: {server: https://kubernetes.default.svc, namespace: a}
-- config.json --
{"password": "CANARY"}
-- broken.json --
{"password": *CANARY}
-- chart/Chart.yaml --
{apiVersion: v2, name: c, version: 1.0.0}
-- chart/templates/x.yaml --
{{ fail (printf "bad password %s" .Values.password) }}
-- schema/Chart.yaml --
{apiVersion: v2, name: s, version: 1.0.0}
-- schema/values.schema.json --
{"properties": {"password": {"pattern": "^x$"}}}
-- kustomized/kustomization.yaml --
secretGenerator: [{name: x, literals: [CANARY]}]
-- replaced/kustomization.yaml --
resources: [s.yaml]
replacements: [{source: {kind: Secret, name: x, fieldPath: stringData.a, options: {delimiter: "/", index: 9}}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.a]}]}]
-- replaced/s.yaml --
{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {a: CANARY}}
-- plain/s.yaml --
{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {a: *CANARY}}
-- good/s.yaml --
{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {a: CANARY}}
-- helmfile.yaml --
releases:
- {name: a, chart: ./chart, values: [{password: CANARY}, values.yaml.gotmpl, broken.yaml]}
- {name: b, chart: ./chart, set: [{name: password, value: CANARY}]}
-- other/helmfile.yaml.gotmpl --
releases:
- {name: a, chart: ../chart, values: [{password: CANARY}], namespace: {{ fail (readFile "../secret.txt") }}}
-- values.yaml.gotmpl --
password: CANARY
x: {{ fail "CANARY" }}
-- secret.txt --
CANARY
-- broken.yaml --
password: *CANARY
`

// TestNothingTellsSecrets: a secret that makes something fail is in no output.
func TestNothingTellsSecrets(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command in every format")
	}
	dir := t.TempDir()
	extract(t, dir, secretive, func(text string) string { return strings.ReplaceAll(text, "CANARY", canary) })
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	check := func(what, _, text string) {
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary)), fmt.Sprintf("%x", canary)} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s holds the secret: %s", what, around(text, i))
			}
		}
	}
	outputs(t, dir, []string{"good", "chart", "schema", "kustomized", "replaced", "plain"}, check)
	var out bytes.Buffer
	Main("ladder", []string{"import", "helmfile", filepath.Join(dir, "other"), "--out", t.TempDir(), "--dry-run"}, "test",
		&stream.Streams{Out: &out, Err: &out, Getenv: func(string) string { return "" }})
	if check("import helmfile", "", out.String()); !strings.Contains(out.String(), "error calling fail") {
		t.Error(out.String())
	}
}
