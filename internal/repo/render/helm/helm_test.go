package helm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/render/values"
)

// repository writes the files of an archive and opens them.
func repository(t *testing.T, archive string) *source.Tree {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := source.NewTree(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

var here = finding.Position{File: "component.yaml", Line: 7}

func request(src model.Source) Request {
	src.Kind = model.Chart
	if src.Path == "" && src.Name == "" {
		src.Path = "chart"
	}
	src.Position = here
	return Request{Source: src, Release: "web", Namespace: "apps"}
}

func options() Options { return Options{MaxOutput: 4 << 20} }

const base = `
-- chart/Chart.yaml --
apiVersion: v2
name: shop
version: 1.0.0
-- chart/values.yaml --
replicas: 1
image: {tag: "1"}
-- chart/crds/thing.yaml --
# The thing.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
-- chart/templates/NOTES.txt --
Thank you for installing {{ .Chart.Name }}.
-- chart/templates/_helpers.tpl --
{{- define "shop.labels" -}}
app: {{ .Release.Name }}
{{- end }}
{{- define "shop.configmap" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: made-by-include}
{{- end }}
-- chart/templates/deployment.yaml --
{{- if .Values.replicas }}
# A comment
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "shop.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  tag: {{ .Values.image.tag | quote }}
{{- end }}
{{- range $i, $n := list "a" "b" }}
---
apiVersion: v1
kind: Service
metadata: {name: {{ $n }}}
{{- end }}
---
{{ include "shop.configmap" . }}
-- chart/templates/hook.yaml --
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: pre-install}
`

func render(t *testing.T, tree *source.Tree, req Request, opts Options) ([]string, error) {
	t.Helper()
	result, err := Render(context.Background(), tree.View(), req, opts)
	var lines []string
	for _, o := range result.Objects {
		lines = append(lines, o.Origin.Position().String()+" "+o.GetKind()+" "+o.GetName())
	}
	return lines, err
}

func TestOriginsAreTemplateLines(t *testing.T) {
	got, err := render(t, repository(t, base), request(model.Source{}), options())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"chart/crds/thing.yaml:2 CustomResourceDefinition things.example.com",
		"chart/templates/deployment.yaml:3 Deployment web",
		"chart/templates/deployment.yaml:16 Service a",
		"chart/templates/deployment.yaml:16 Service b",
		"chart/templates/deployment.yaml:21 ConfigMap made-by-include",
		"chart/templates/hook.yaml:1 Job migrate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

// TestKubeVersion: a chart that names an end before the default version is told
// the newest version it accepts, unless the version of the target is known.
func TestKubeVersion(t *testing.T) {
	for constraint, want := range map[string]string{
		">=1.22.0":           DefaultKubeVersion,
		">=1.22.0 <1.35.0-0": "1.34.0",
		"~1.30":              "1.30.0",
		"":                   DefaultKubeVersion,
	} {
		archive := strings.Replace(base, "version: 1.0.0\n", "version: 1.0.0\nkubeVersion: \""+constraint+"\"\n", 1) + `
-- chart/templates/version.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: version}
data: {version: "{{ .Capabilities.KubeVersion.Version }}"}
`
		tree := repository(t, archive)
		r, err := Render(context.Background(), tree.View(), request(model.Source{}), options())
		if err != nil {
			t.Errorf("%q: %v", constraint, err)
			continue
		}
		for _, o := range r.Objects {
			if got, _, _ := unstructured.NestedString(o.Object, "data", "version"); o.GetName() == "version" && got != "v"+want {
				t.Errorf("%q: told %s, want v%s", constraint, got, want)
			}
		}
		opts := options()
		opts.KubeVersion = DefaultKubeVersion
		if _, err := Render(context.Background(), tree.View(), request(model.Source{}), opts); (err == nil) != (want == DefaultKubeVersion) {
			t.Errorf("%q for a target that is known: %v", constraint, err)
		}
	}
}

// TestGluedSeparator: a template that trims the line break after a separator puts
// the first line of the next document behind it. Helm splits there all the same.
func TestGluedSeparator(t *testing.T) {
	tree := repository(t, base+`
-- chart/templates/roles.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---

{{- if true -}}

# The second.
apiVersion: v1
kind: ConfigMap
metadata: {name: second}
---
{{- end -}}
apiVersion: v1
kind: ConfigMap
metadata: {name: third}
`)
	r, err := Render(context.Background(), tree.View(), request(model.Source{}), options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range r.Objects {
		if o.Origin.File == "chart/templates/roles.yaml" {
			got = append(got, fmt.Sprintf("%s %d", o.GetName(), o.Origin.Line))
		}
	}
	if diff := cmp.Diff([]string{"first 1", "second 9", "third 14"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// Helm trims each manifest: a block of text at its end has no blanks behind it. Source:
// Helm, pkg/release/v1/util, SplitManifests.
func TestBlanksAtTheEnd(t *testing.T) {
	tree := repository(t, base+"-- chart/templates/context.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  context: |\n    url: {{ .Values.nothing }}\n")
	r, err := Render(context.Background(), tree.View(), request(model.Source{}), options())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Objects {
		if o.Origin.File != "chart/templates/context.yaml" {
			continue
		}
		if got, _, _ := unstructured.NestedString(o.Object, "data", "context"); got != "url:\n" {
			t.Errorf("context %q", got)
		}
		return
	}
	t.Error("no object of context.yaml")
}

func TestProblems(t *testing.T) {
	withTemplate := func(text string) string { return base + "-- chart/templates/z.yaml --\n" + text + "\n" }
	for name, test := range map[string]struct {
		archive string
		source  model.Source
		at      string
		reason  string
	}{
		"missing chart":              {base, model.Source{Path: "nowhere"}, "component.yaml:7", "chart nowhere does not exist"},
		"no chart":                   {base + "-- empty/x --\n", model.Source{Path: "empty"}, "component.yaml:7", "holds no Chart.yaml"},
		"leaves the repository":      {base, model.Source{Path: "../elsewhere"}, "component.yaml:7", "leaves the repository"},
		"missing value file":         {base, model.Source{ValueFiles: []model.ValueFile{{Path: "v.yaml", Position: finding.Position{File: "c.yaml", Line: 3}}}}, "c.yaml:3", "value file v.yaml does not exist"},
		"broken value file":          {base + "-- v.yaml --\na: 1\nb: [\n", model.Source{ValueFiles: []model.ValueFile{{Path: "v.yaml"}}}, "v.yaml:2", "YAML"},
		"required":                   {withTemplate("a: 1\nb: {{ required \"the host is needed\" .Values.host }}"), model.Source{}, "chart/templates/z.yaml:2", "refuses its values: the host is needed"},
		"fail in a helper":           {withTemplate("a: 1\n\nb: {{ include \"bad\" . }}") + "-- chart/templates/_bad.tpl --\n\n{{ define \"bad\" }}\n{{ fail \"no\" }}{{ end }}\n", model.Source{}, "chart/templates/_bad.tpl:3", "refuses its values: no"},
		"nil pointer":                {withTemplate("a: 1\nb: {{ .Values.host.name }}"), model.Source{}, "chart/templates/z.yaml:2", "nil pointer evaluating"},
		"parse error":                {withTemplate("a: 1\nb: {{ if }}"), model.Source{}, "chart/templates/z.yaml:2", "missing value for if"},
		"not YAML":                   {withTemplate("{{/* x */}}\na: 1\nb: [1\n"), model.Source{}, "chart/templates/z.yaml:3", "does not make valid manifests"},
		"not an object":              {withTemplate("a: 1"), model.Source{}, "chart/templates/z.yaml:1", "it has no apiVersion and kind"},
		"missing dependency":         {strings.Replace(base, "version: 1.0.0\n", "version: 1.0.0\ndependencies:\n- name: db\n  version: 1.0.0\n  repository: https://example.com\n", 1), model.Source{}, "chart/Chart.yaml:5", "depends on db"},
		"schema":                     {base + "-- chart/values.schema.json --\n{\"properties\": {\"replicas\": {\"type\": \"string\"}}}\n", model.Source{}, "component.yaml:7", "do not fit its values.schema.json: at '/replicas': got number, want string"},
		"library":                    {strings.Replace(base, "version: 1.0.0\n", "version: 1.0.0\ntype: library\n", 1), model.Source{}, "chart/Chart.yaml:1", "is a library"},
		"old Kubernetes":             {strings.Replace(base, "version: 1.0.0\n", "version: 1.0.0\nkubeVersion: \">=1.99\"\n", 1), model.Source{}, "component.yaml:7", "requires Kubernetes >=1.99"},
		"remote offline":             {base, model.Source{RepoURL: "https://u:secret@charts.example.com", Name: "db", Version: "1.2.3"}, "component.yaml:7", "remote chart https://charts.example.com/db 1.2.3 is not rendered offline; vendor it or run without --offline"},
		"bomb in values":             {base + "-- v.yaml --\n" + bomb, model.Source{ValueFiles: []model.ValueFile{{Path: "v.yaml"}}}, "v.yaml", "aliases expand to more than"},
		"environment is no function": {withTemplate("a: {{ env \"HOME\" }}"), model.Source{}, "chart/templates/z.yaml:1", `function "env" not defined`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, repository(t, test.archive), request(test.source), options())
			var problem *source.Error
			if !errors.As(err, &problem) {
				t.Fatalf("got %v, want a *source.Error", err)
			}
			if got := problem.Position.String(); !strings.HasPrefix(got, test.at) {
				t.Errorf("position %s, want %s", got, test.at)
			}
			if !strings.Contains(problem.Reason, test.reason) {
				t.Errorf("reason %q, want %q in it", problem.Reason, test.reason)
			}
			if strings.Contains(problem.Reason, "secret") || strings.Contains(problem.Reason, "\n") {
				t.Errorf("reason %q leaks or is more than a line", problem.Reason)
			}
		})
	}
}

const bomb = `a: &a [x,x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]
`

// TestOutputIsHelms compares our execution of templates with Helm's engine.
func TestOutputIsHelms(t *testing.T) {
	archives, err := filepath.Glob("testdata/charts/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no charts: %v", err)
	}
	for _, name := range archives {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tree := repository(t, string(data))
			src := model.Source{Path: "chart"}
			if kind, _ := tree.View().Stat("values.yaml"); kind == source.File {
				src.ValueFiles = []model.ValueFile{{Path: "values.yaml"}}
			}
			compareWithHelm(t, tree, request(src))
		})
	}
}

// compareWithHelm renders a chart with Helm's engine and with ours, and wants
// the same text from every template.
func compareWithHelm(t *testing.T, tree *source.Tree, req Request) {
	t.Helper()
	prepared := func() (*loadedChart, common.Values) {
		ctx := context.Background()
		loaded, err := load(ctx, tree.View(), req.Source, options())
		if err != nil {
			t.Fatal(err)
		}
		given, err := values.Layer(tree.View(), req.Source)
		if err != nil {
			t.Fatal(err)
		}
		caps, err := capabilities(options())
		if err != nil {
			t.Fatal(err)
		}
		top, err := prepare(loaded, given.Merged, req, caps)
		if err != nil {
			t.Fatal(err)
		}
		return loaded, top
	}
	loaded, top := prepared()
	want, err := engine.Engine{}.Render(loaded.chart, top)
	if err != nil {
		t.Fatalf("Helm: %v", err)
	}
	for name := range want {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(want, name)
		}
	}
	loaded, top = prepared()
	outputs, err := newExecution(loaded, req, Options{MaxOutput: 4 << 20, Note: func(finding.Position, string) {}}).execute(top)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, out := range outputs {
		got[out.template.name] = strings.ReplaceAll(out.text, noValue, "")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-Helm +ours):\n%s", diff)
	}
}

func TestChanceIsStable(t *testing.T) {
	archive := base + `-- chart/templates/z.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s, annotations: {now: {{ now | date "2006-01-02T15:04" | quote }}, id: {{ uuidv4 }}}}
stringData:
  a: {{ randAlphaNum 16 }}
  b: {{ randAlphaNum 16 }}
  n: {{ randInt 10 20 | quote }}
  h: {{ htpasswd "me" "pw" | quote }}
  s: {{ shuffle "abcdef" }}
  {{- $ca := genCA "ca" 10 }}
  {{- $cert := genSignedCert "web" (list "10.0.0.1") (list "web.apps.svc") 10 $ca }}
  ca: {{ $ca.Cert | quote }}
  crt: {{ $cert.Cert | quote }}
  key: {{ $cert.Key | quote }}
  keys: {{ keys (dict "c" 1 "a" 2 "b" 3 "d" 4) | join "," }}
`
	tree := repository(t, archive)
	data := func(release string) map[string]string {
		req := request(model.Source{})
		req.Release = release
		result, err := Render(context.Background(), tree.View(), req, options())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range result.Objects {
			if o.GetKind() == "Secret" {
				out, _, err := unstructured.NestedStringMap(o.Object, "stringData")
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
		}
		t.Fatal("no Secret")
		return nil
	}
	first := data("web")
	if diff := cmp.Diff(first, data("web")); diff != "" {
		t.Errorf("the same release rendered twice differs:\n%s", diff)
	}
	if other := data("api"); other["a"] == first["a"] {
		t.Error("two releases share a password")
	}
	if first["a"] == first["b"] {
		t.Error("two calls gave the same password")
	}
	if first["keys"] != "a,b,c,d" {
		t.Errorf("keys %q are not sorted", first["keys"])
	}
	root := x509.NewCertPool()
	root.AppendCertsFromPEM([]byte(first["ca"]))
	block, _ := pem.Decode([]byte(first["crt"]))
	if block == nil {
		t.Fatal("the certificate is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: root, DNSName: "web.apps.svc"}); err != nil {
		t.Errorf("the certificate does not verify: %v", err)
	}
	if _, err := tls.X509KeyPair([]byte(first["crt"]), []byte(first["key"])); err != nil {
		t.Errorf("certificate and key do not match: %v", err)
	}
}

func TestAPIVersionsReachTemplates(t *testing.T) {
	tree := repository(t, base+`-- chart/templates/z.yaml --
{{ if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" }}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: web-{{ .Capabilities.KubeVersion.Minor }}}
{{ end }}
`)
	opts := options()
	opts.KubeVersion = "1.33"
	opts.APIVersions = []string{"monitoring.coreos.com/v1/ServiceMonitor"}
	lines, err := render(t, tree, request(model.Source{}), opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := "chart/templates/z.yaml:2 ServiceMonitor web-33"; !slices.Contains(lines, want) {
		t.Errorf("got %q, want %q among them", lines, want)
	}
	for text, want := range map[string]bool{
		"{{ .Capabilities.KubeVersion.Version }}":    false,
		"{{ .Capabilities.HelmVersion }}":            false,
		`{{ .Capabilities.APIVersions.Has "a/v1" }}`: true,
		"{{ toYaml .Capabilities }}":                 true,
		"{{ $c := .Capabilities}}":                   true,
		"no mention":                                 false,
	} {
		if got := readsCapabilities([]byte(text)); got != want {
			t.Errorf("readsCapabilities(%q) = %v", text, got)
		}
	}
}
