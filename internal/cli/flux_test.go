package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// largeFlux is a platform of Flux as people run it: each application has a
// Kustomization in a folder of its own, with a HelmRelease; most depend on others. The
// only thing that says where the cluster begins are the values of the chart that makes
// a FluxInstance. It returns the number of dependencies.
func largeFlux(t *testing.T, dir string, applications int) (dependencies int) {
	t.Helper()
	write := func(name, text string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bootstrap/values.yaml", "instance:\n  distribution: {version: 2.x}\n  sync:\n    kind: GitRepository\n    url: https://git.example/me/home\n    ref: refs/heads/main\n    path: kubernetes/cluster\n")
	write("kubernetes/cluster/apps.yaml", `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: cluster-apps, namespace: flux-system}
spec:
  interval: 1h
  path: ./kubernetes/apps
  sourceRef: {kind: GitRepository, name: flux-system}
  patches:
  - target: {kind: Kustomization}
    patch: |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata: {name: all}
      spec: {postBuild: {substituteFrom: [{kind: ConfigMap, name: settings}]}}
`)
	write("kubernetes/cluster/settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {DOMAIN: home.example}\n")
	write("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n")
	write("charts/app/templates/all.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}, annotations: {host: {{ .Values.host | quote }}}}
    spec: {containers: [{name: app, image: "app:1"}]}
`)
	for i := range applications {
		namespace := fmt.Sprintf("group-%d", i%5)
		if i < 5 {
			write("kubernetes/apps/"+namespace+"/namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
		}
		name := fmt.Sprintf("app-%03d", i)
		var depends []string
		for _, j := range []int{i / 2, i - 7} { // the first: half as far, the second: a week ago
			if j >= 0 && j < i && !strings.Contains(strings.Join(depends, ""), fmt.Sprintf("app-%03d", j)) {
				depends = append(depends, fmt.Sprintf("  - {name: app-%03d}\n", j))
				dependencies++
			}
		}
		list := ""
		if len(depends) > 0 {
			list = "  dependsOn:\n" + strings.Join(depends, "")
		}
		folder := "kubernetes/apps/" + namespace + "/" + name
		write(folder+"/ks.yaml", fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec:
  interval: 1h
  path: ./%[3]s/app
  targetNamespace: %[2]s
  wait: true
  sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
%[4]s`, name, namespace, folder, list))
		write(folder+"/app/release.yaml", fmt.Sprintf(`apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %s}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/app, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  values: {host: "%[1]s.${DOMAIN}"}
`, name))
		write(folder+"/app/kustomization.yaml", "resources: [release.yaml]\n")
	}
	for g := range 5 {
		var list []string
		for i := g; i < applications; i += 5 {
			list = append(list, fmt.Sprintf("app-%03d/ks.yaml", i))
		}
		write(fmt.Sprintf("kubernetes/apps/group-%d/kustomization.yaml", g), "resources: [namespace.yaml, "+strings.Join(list, ", ")+"]\n")
	}
	return dependencies
}

// TestLargeFlux: a platform of Flux with more than 100 dependencies is read whole by
// every reading command, without configuration.
func TestLargeFlux(t *testing.T) {
	dir := t.TempDir()
	const applications = 60
	dependencies := largeFlux(t, dir, applications)
	if dependencies < 100 {
		t.Fatalf("%d dependencies are not many", dependencies)
	}
	run := func(args ...string) string {
		t.Helper()
		var out, progress bytes.Buffer
		if code := Main("ladder", append(args, dir), "test", &stream.Streams{In: strings.NewReader(""), Out: &out, Err: &progress, Getenv: func(string) string { return "" }}); code != 0 {
			t.Fatalf("ladder %s ends with %d: %s%s", strings.Join(args, " "), code, out.String(), progress.String())
		}
		return out.String()
	}
	var linted struct {
		Findings []struct{ Rule, Severity, Message string }
		Summary  struct {
			Components int
			Coverage   struct {
				Applications struct{ Found, Read, Rendered int }
				Unread       []any
			}
		}
	}
	if err := json.Unmarshal([]byte(run("lint", "--offline", "--format", "json")), &linted); err != nil {
		t.Fatal(err)
	}
	// A Kustomization and a HelmRelease each, the one that applies them, and the root
	// for the settings.
	want := 2*applications + 2
	if got := linted.Summary.Coverage.Applications; got.Found != want || got.Read != want || got.Rendered != want || len(linted.Summary.Coverage.Unread) > 0 {
		t.Errorf("of %d components %+v were judged; not read: %v", want, got, linted.Summary.Coverage.Unread)
	}
	for _, f := range linted.Findings {
		if f.Rule != "depends-on-delay" {
			t.Errorf("%s %s: %s", f.Severity, f.Rule, f.Message)
		}
	}
	var planned struct {
		Edges []struct{ From, To, Basis string }
		Steps []struct{ Components []string }
	}
	if err := json.Unmarshal([]byte(run("plan", "--offline", "--format", "json")), &planned); err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, e := range planned.Edges {
		if e.Basis == "declared" && !strings.HasSuffix(e.From, "-release") && !strings.HasSuffix(e.To, "-release") {
			written++
		}
	}
	if written != dependencies {
		t.Errorf("%d of %d dependencies are edges", written, dependencies)
	}
	if !strings.Contains(run("explain", "app-059", "--offline"), "app-029") {
		t.Error("explain does not name what a component depends on")
	}
	if !strings.Contains(run("inventory"), "`app-059-release`") {
		t.Error("the inventory does not list a release")
	}
}
