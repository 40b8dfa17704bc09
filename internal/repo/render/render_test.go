package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// extract writes the files of an archive below a folder.
func extract(t *testing.T, dir, archive string) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const platform = `
-- charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- charts/app/values.yaml --
replicas: 1
-- charts/app/templates/all.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec: {replicas: {{ .Values.replicas }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: {{ .Release.Name }}}
-- charts/monitored/Chart.yaml --
apiVersion: v2
name: monitored
version: 1.0.0
-- charts/monitored/templates/monitor.yaml --
{{- if .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" }}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: {{ .Release.Name }}}
{{- end }}
-- charts/nested/Chart.yaml --
apiVersion: v2
name: nested
version: 1.0.0
-- charts/nested/templates/crd.yaml --
{{- if .Capabilities.APIVersions.Has "example.com/v1/Thing" }}
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec: {group: monitoring.coreos.com, scope: Namespaced, names: {kind: ServiceMonitor, plural: servicemonitors}, versions: [{name: v1, served: true}]}
{{- end }}
-- crds/thing.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true}]}
-- crds/values.yaml --
replicas: 3
-- things/thing.yml --
# A thing of the whole cluster.
apiVersion: example.com/v1
kind: Thing
metadata: {name: one}
-- things/deeper/skipped.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: deeper}
-- kust/kustomization.yaml --
namespace: apps
namePrefix: my-
resources: [cm.yaml]
generatorOptions: {disableNameSuffixHash: true}
configMapGenerator:
- name: made
  literals: [a=b]
-- kust/cm.yaml --
# first
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
`

func chart(name, path string) model.Component {
	return model.Component{Name: name, Namespace: "apps", Enabled: true,
		Sources: []model.Source{{Kind: model.Chart, Path: path, Position: finding.Position{File: name + ".yaml", Line: 3}}}}
}

func of(name string, kind model.SourceKind, path string) model.Component {
	c := chart(name, path)
	c.Sources[0].Kind = kind
	return c
}

func platformComponents() []model.Component {
	return []model.Component{
		chart("web", "charts/app"), chart("monitored", "charts/monitored"), chart("nested", "charts/nested"),
		of("crds", model.Manifests, "crds"), of("things", model.Manifests, "things"), of("kust", model.Kustomize, "kust"),
	}
}

// describe prints results as text: the place, kind, target and name of objects.
func describe(results []Result) []string {
	var out []string
	for _, r := range results {
		if r.Err != nil {
			out = append(out, r.Component+": "+r.Err.Error())
		}
		for _, o := range r.Objects {
			out = append(out, fmt.Sprintf("%s: %s %s %s/%s", r.Component, o.Origin.Position(), o.GetKind(), o.Target, o.GetName()))
		}
	}
	return out
}

var wantPlatform = []string{
	"web: charts/app/templates/all.yaml:1 Deployment apps/web",
	"web: charts/app/templates/all.yaml:6 ClusterRole /web",
	"monitored: charts/monitored/templates/monitor.yaml:2 ServiceMonitor apps/monitored",
	"nested: charts/nested/templates/crd.yaml:2 CustomResourceDefinition /servicemonitors.monitoring.coreos.com",
	"crds: crds/thing.yaml:1 CustomResourceDefinition /things.example.com",
	"things: things/thing.yml:2 Thing /one",
	"kust: kust/cm.yaml:2 ConfigMap apps/my-one",
	"kust: kust/cm.yaml:6 ConfigMap apps/my-two",
	"kust: kust/kustomization.yaml:1 ConfigMap apps/my-made",
}

func TestAll(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform)
	opts := Options{Offline: true, CacheDir: t.TempDir()}
	for _, run := range []string{"cold", "from the cache"} {
		var calls []int
		results := New(dir, dir, opts).All(context.Background(), platformComponents(), func(done, total int, _ string) {
			if total != 6 {
				t.Errorf("total %d", total)
			}
			calls = append(calls, done)
		})
		if diff := cmp.Diff(wantPlatform, describe(results)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", run, diff)
		}
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6}, calls); diff != "" {
			t.Errorf("%s: progress (-want +got):\n%s", run, diff)
		}
	}
}

func TestChartThatInsistsOnACRD(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform+`
-- charts/strict/Chart.yaml --
apiVersion: v2
name: strict
version: 1.0.0
-- charts/strict/templates/all.yaml --
{{- if not (.Capabilities.APIVersions.Has "example.com/v1/Thing") }}
{{- fail "install the CRDs first" }}
{{- end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: strict}
`)
	strict := chart("strict", "charts/strict")
	r := New(dir, dir, Options{Offline: true, NoCache: true})
	if got := describe(r.All(context.Background(), []model.Component{strict}, nil)); len(got) != 1 || !strings.Contains(got[0], "install the CRDs first") {
		t.Errorf("without the CRD: %q", got)
	}
	got := describe(r.All(context.Background(), []model.Component{strict, of("crds", model.Manifests, "crds")}, nil))
	if len(got) != 2 || got[0] != "strict: charts/strict/templates/all.yaml:4 ConfigMap apps/strict" {
		t.Errorf("with the CRD: %q", got)
	}
}

// bytesOf is everything a result holds.
func bytesOf(t *testing.T, results []Result) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		data, err := json.Marshal(r.Objects)
		if err != nil {
			t.Fatal(err)
		}
		out[r.Component] = string(data)
	}
	return out
}

func TestResultsDoNotDependOnOrder(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform)
	var first map[string]string
	for seed := range uint64(8) {
		cs := platformComponents()
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
		results := New(dir, dir, Options{Offline: true, NoCache: true, Workers: 1 + int(seed%4)}).All(context.Background(), cs, nil)
		for i := range cs {
			if results[i].Component != cs[i].Name {
				t.Fatalf("result %d is of %s, want %s", i, results[i].Component, cs[i].Name)
			}
		}
		got := bytesOf(t, results)
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Fatalf("seed %d (-first +got):\n%s", seed, diff)
		}
	}
}

func TestCacheFollowsTheFiles(t *testing.T) {
	dir, cacheDir := t.TempDir(), t.TempDir()
	extract(t, dir, platform)
	render := func() []string {
		return describe(New(dir, dir, Options{Offline: true, CacheDir: cacheDir}).All(context.Background(), []model.Component{chart("web", "charts/app")}, nil))
	}
	first := render()
	extract(t, dir, "-- charts/app/templates/more.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
	if got := render(); len(got) != len(first)+1 {
		t.Errorf("after a new template: %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "charts/app/templates/more.yaml")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, render()); diff != "" {
		t.Errorf("after its removal (-want +got):\n%s", diff)
	}
	entries := 0
	err := filepath.WalkDir(cacheDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 && name != cacheDir {
			t.Errorf("%s is open to others: %s", name, info.Mode())
		}
		if !d.IsDir() {
			entries++
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			// A torn write, and a damaged byte in the middle.
			if entries%2 == 0 {
				data = data[:len(data)/2]
			} else {
				data = []byte(strings.Replace(string(data), `"replicas":1`, `"replicas":7`, 1))
			}
			return os.WriteFile(name, data, 0o600)
		}
		return nil
	})
	if err != nil || entries < 2 {
		t.Fatalf("%d cache entries, %v", entries, err)
	}
	results := New(dir, dir, Options{Offline: true, CacheDir: cacheDir}).All(context.Background(), []model.Component{chart("web", "charts/app")}, nil)
	if got := bytesOf(t, results)["web"]; strings.Contains(got, `"replicas":7`) || !strings.Contains(got, `"replicas":1`) {
		t.Errorf("a damaged entry is used: %s", got)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform+`
-- remote/kustomization.yaml --
resources:
- ../kust
- https://example.com/x.yaml
-- git/kustomization.yaml --
bases:
- github.com/example/repo//base?ref=v1
-- escape/kustomization.yaml --
resources: [../../../../etc]
-- broken/kustomization.yaml --
resources: [nothing.yaml]
-- withchart/kustomization.yaml --
namePrefix: p-
resources: []
helmGlobals: {chartHome: ../charts}
helmCharts:
- name: app
  releaseName: rel
  valuesInline: {replicas: 4}
-- nochart/kustomization.yaml --

helmCharts:
- name: ok
- name: nothing
-- old/kustomization.yaml --
bases: [../kust]
commonLabels: {app: x}
-- folder/values.yaml --
a: {{ not yaml
-- folder/Chart.yaml --
apiVersion: v2
name: x
-- folder/list.json --
{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "l"}}]}
-- folder/skipped.yaml --
# +argocd:skip-file-rendering
x: [
-- folder/notes.txt --
apiVersion: v1
-- template/t.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Values.x }}}
-- mixed/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
replicas: 3
-- bad/a.yaml --
apiVersion: v1
kind: [
`)
	remote := chart("remote-chart", "")
	remote.Sources[0].RepoURL, remote.Sources[0].Name, remote.Sources[0].Version = "https://charts.example.com", "db", "1.2.3"
	elsewhere := of("elsewhere", model.Manifests, "")
	elsewhere.Sources[0].RepoURL, elsewhere.Sources[0].Name = "https://git.example.com/x.git", "deploy"
	got := describe(New(dir, dir, Options{Offline: true, NoCache: true}).All(context.Background(), []model.Component{
		remote, elsewhere, of("r", model.Kustomize, "remote"), of("g", model.Kustomize, "git"), of("e", model.Kustomize, "escape"),
		of("b", model.Kustomize, "broken"), of("n", model.Kustomize, "nochart"), of("h", model.Kustomize, "withchart"),
		of("o", model.Kustomize, "old"), of("f", model.Manifests, "folder"), of("t", model.Manifests, "template"),
		of("m", model.Manifests, "mixed"), of("y", model.Manifests, "bad"), of("x", model.Manifests, "../outside"), of("z", model.Manifests, "zzz"),
	}, nil))
	want := []string{
		"remote-chart: remote-chart.yaml:3: render remote-chart: remote chart https://charts.example.com/db 1.2.3 is not rendered offline; vendor it or run without --offline",
		"elsewhere: elsewhere.yaml:3: render elsewhere: deploy of repository https://git.example.com/x.git is not in this repository, so it is not rendered; vendor it, or run Ladder there",
		"r: remote/kustomization.yaml:3: render r: remote base https://example.com/x.yaml is not rendered offline; vendor it or run without --offline",
		"g: git/kustomization.yaml:2: render g: remote base github.com/example/repo//base?ref=v1 is not rendered offline; vendor it or run without --offline",
		"e: escape/kustomization.yaml:1: render e: ../../../etc leaves the repository; keep what is rendered inside it",
		"b: broken/kustomization.yaml:1: render b: kustomization broken cannot be built: accumulating resources: accumulation err='accumulating resources from 'nothing.yaml'",
		"n: nochart/kustomization.yaml:3: render n: chart ok is not in nochart/charts and has no repo; vendor it or name its repository",
		"h: charts/app/templates/all.yaml:1 Deployment apps/p-rel",
		"h: charts/app/templates/all.yaml:6 ClusterRole /p-rel",
		"o: kust/cm.yaml:2 ConfigMap apps/my-one",
		"o: kust/cm.yaml:6 ConfigMap apps/my-two",
		"o: kust/kustomization.yaml:1 ConfigMap apps/my-made",
		"f: folder/list.json:1 ConfigMap apps/l",
		"t: template/t.yaml:3: render t: not valid YAML: a map or a list stands as a key",
		"m: mixed/a.yaml:5: render m: document is not a Kubernetes object: it has no apiVersion and kind",
		"y: bad/a.yaml:2: render y: not valid YAML: did not find expected node content",
		"x: x.yaml:3: render x: manifests: ../outside leaves the repository; keep what is rendered inside it",
		"z: z.yaml:3: render z: the folder zzz does not exist; correct the path or add it",
	}
	if len(got) != len(want) {
		t.Fatalf("got %d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
		if strings.Contains(got[i], dir) {
			t.Errorf("absolute path in %s", got[i])
		}
	}
}

func TestRemoteChartIsFetchedUnlessOffline(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform)
	remote := chart("remote", "")
	remote.Sources[0].RepoURL, remote.Sources[0].Name, remote.Sources[0].Version = "https://charts.example.com", "db", "1.2.3"
	var fetched atomic.Int64
	fetch := func(context.Context, string, string, string) ([]byte, error) {
		fetched.Add(1)
		return nil, errors.New("no route")
	}
	opts := Options{NoCache: true, Fetch: evaluate.Fetch{Chart: fetch}}
	_, err := New(dir, dir, opts).Component(context.Background(), remote)
	var unrendered *Error
	if !errors.As(err, &unrendered) || unrendered.Source != "https://charts.example.com/db 1.2.3" || !strings.Contains(unrendered.Reason, "no route") {
		t.Errorf("error %v", err)
	}
	opts.Offline = true
	if _, err := New(dir, dir, opts).Component(context.Background(), remote); !errors.As(err, &unrendered) {
		t.Errorf("offline: %v", err)
	}
	if n := fetched.Load(); n != 1 {
		t.Errorf("fetched %d times, want once", n)
	}
}

func TestCancelledRenderingIsNoFaultOfTheRepository(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform+"-- charts/app/templates/endless.yaml --\n{{ range 1000000000 }}{{ end }}\n")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := New(dir, dir, Options{Offline: true, NoCache: true}).Component(ctx, chart("web", "charts/app"))
	var unrendered *Error
	if err == nil || errors.As(err, &unrendered) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	_, err = New(dir, dir, Options{Offline: true, NoCache: true, Timeout: 50 * time.Millisecond}).Component(context.Background(), chart("web", "charts/app"))
	if !errors.As(err, &unrendered) || !strings.Contains(unrendered.Reason, "app/templates/endless.yaml of chart app does not end within 50ms") {
		t.Errorf("error %v, want one that names chart and template", err)
	}
}

func BenchmarkAll(b *testing.B) {
	dir := b.TempDir()
	for _, f := range txtar.Parse([]byte(platform)).Files {
		name := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Data, 0o644)); err != nil {
			b.Fatal(err)
		}
	}
	var cs []model.Component
	for i := range 100 {
		cs = append(cs, chart(fmt.Sprint("web-", i), "charts/app"))
	}
	for name, opts := range map[string]Options{"cold": {NoCache: true}, "warm": {CacheDir: b.TempDir()}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				New(dir, dir, opts).All(context.Background(), cs, nil)
			}
		})
	}
}

// TestInflatorAmongGenerators renders charts that a kustomization inflates by the
// generator behind helmCharts, named by its file or written in place.
func TestInflatorAmongGenerators(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, `
-- charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- charts/app/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {size: "{{ .Values.size }}"}
-- charts/app/values.yaml --
size: 1
-- k/kustomization.yaml --
namePrefix: p-
generators:
- inflator.yaml
- |-
  apiVersion: builtin
  kind: HelmChartInflationGenerator
  metadata: {name: second}
  name: app
  releaseName: two
  chartHome: ../charts
  valuesInline: {size: 22}
- map.yaml
-- k/inflator.yaml --
apiVersion: builtin
kind: HelmChartInflationGenerator
metadata: {name: first}
name: app
releaseName: one
chartHome: ../charts
valuesFile: values.yaml
-- k/values.yaml --
size: 11
-- k/map.yaml --
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: three}
literals: [size=33]
options: {disableNameSuffixHash: true}
`)
	results := New(dir, dir, Options{Offline: true, NoCache: true}).All(context.Background(), []model.Component{of("k", model.Kustomize, "k")}, nil)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	got := map[string]any{}
	for _, o := range results[0].Objects {
		got[o.GetName()], _, _ = unstructured.NestedString(o.Object, "data", "size")
	}
	if diff := cmp.Diff(map[string]any{"p-one": "11", "p-two": "22", "p-three": "33"}, got); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// TestInflatedChartNeedsValues refuses a chart without values.yaml where kustomize
// would read it.
func TestInflatedChartNeedsValues(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, `
-- charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- charts/app/templates/app.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
-- bare/kustomization.yaml --
helmGlobals: {chartHome: ../charts}
helmCharts: [{name: app, valuesInline: {size: 1}}]
-- own/kustomization.yaml --
helmGlobals: {chartHome: ../charts}
helmCharts: [{name: app, valuesFile: values.yaml}]
-- own/values.yaml --
size: 1
-- replaced/kustomization.yaml --
helmGlobals: {chartHome: ../charts}
helmCharts: [{name: app, valuesInline: {size: 1}, valuesMerge: replace}]
`)
	got := describe(New(dir, dir, Options{Offline: true, NoCache: true}).All(context.Background(), []model.Component{
		of("bare", model.Kustomize, "bare"), of("own", model.Kustomize, "own"), of("replaced", model.Kustomize, "replaced"),
	}, nil))
	want := []string{
		"bare: bare/kustomization.yaml:2: render bare: chart app has no values.yaml, without which kustomize does not inflate it; add an empty one, or name a valuesFile",
		"own: charts/app/templates/app.yaml:1 ConfigMap apps/app",
		"replaced: charts/app/templates/app.yaml:1 ConfigMap apps/app",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
