package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const platform = `
-- environments/dev/components/base/component.yaml --
name: base
domain: foundation
namespace: apps
rolloutPhase: "100"
componentType: namespaces
manifests: {path: sources/base}
-- environments/dev/components/web/component.yaml --
name: web
domain: apps
namespace: apps
rolloutPhase: "650"
componentType: runtime
requires: [base, db-of-somebody]
chart: {path: sources/charts/web}
-- environments/dev/components/remote/component.yaml --
name: remote
domain: apps
namespace: apps
rolloutPhase: "650"
componentType: runtime
chart:
  repoURL: https://charts.example.com
  name: db
  version: 1.2.3
-- environments/dev/components/off/component.disabled.yaml --
name: off
domain: apps
namespace: apps
rolloutPhase: "650"
componentType: runtime
manifests: {path: sources/off}
-- sources/base/all.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: apps}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
-- sources/off/all.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "off"}
-- sources/charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- sources/charts/web/templates/deployment.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  template:
    spec:
      containers:
      - name: web
        envFrom: [{configMapRef: {name: settings}}]
`

func extract(t *testing.T, platform string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(platform)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	dir := extract(t, platform)
	o := Options{Offline: true, CacheDir: t.TempDir()}
	var before string
	for range 2 { // cold, and from the cache
		last := ""
		o.Progress = func(done, total int, what string) { last = fmt.Sprintf("%s %d/%d", what, done, total) }
		r, err := Load(context.Background(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range r.Unrendered {
			got = append(got, "unrendered "+u.Component+" at "+u.Position.String()+": "+u.Reason)
		}
		for _, f := range r.Findings {
			got = append(got, f.Rule+" at "+f.Position.String()+" in "+f.Environment)
		}
		for _, e := range r.Edges {
			got = append(got, fmt.Sprintf("%s -> %s %s", e.From, e.To, e.Basis))
		}
		want := []string{
			"unrendered remote at environments/dev/components/remote/component.yaml:6: remote chart https://charts.example.com/db 1.2.3 is not rendered offline; vendor it or run without --offline",
			"unknown-requirement at environments/dev/components/web/component.yaml:6 in dev",
			"web -> base declared",
			"web -> base rendered",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if last != "rendering 3/3" {
			t.Errorf("progress ends with %q", last)
		}
		data, err := json.Marshal([]any{r.Objects, r.Edges, r.Findings})
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && before != string(data) {
			t.Error("the second load differs from the first")
		}
		before = string(data)
	}
}

// appOfApps is a root that applies an Application, and next to it a project and
// a ConfigMap; an object of another kind of the same group is no concern of Argo
// CD's alone.
const appOfApps = `
-- ladder.yaml --
layout: app-of-apps
-- apps/root.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: root}
spec:
  source: {repoURL: "https://example.org/r", path: apps}
-- apps/infra.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: infra}
spec:
  destination: {namespace: infra}
  source: {repoURL: "https://example.org/r", path: infra}
-- infra/all.yaml --
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: platform, annotations: {argocd.argoproj.io/sync-wave: "-5"}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  destination: {namespace: web}
  source: {repoURL: "https://example.org/r", path: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: backup}
---
apiVersion: example.com/v1
kind: Application
metadata: {name: of-somebody-else}
-- web/project.yaml --
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: of-web}
-- web/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
`

// TestAppOfApps checks that the Applications and projects that a parent applies
// are not among its objects; a component that applies no Applications keeps all
// it has.
func TestAppOfApps(t *testing.T) {
	dir := extract(t, appOfApps)
	o := Options{Offline: true, NoCache: true}
	r, err := Load(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	named := func(objects []manifest.Object) []string {
		var out []string
		for _, object := range objects {
			out = append(out, object.GetKind()+" "+object.GetName())
		}
		slices.Sort(out)
		return out
	}
	got := map[string][]string{}
	for name, objects := range r.Objects {
		got[name] = named(objects)
	}
	want := map[string][]string{
		"infra": {"Application of-somebody-else", "ConfigMap settings", "Workflow backup"},
		"web":   {"AppProject of-web", "ConfigMap web"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	_, objects, err := One(context.Background(), dir, "infra", o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want["infra"], named(objects)); diff != "" {
		t.Errorf("rendered alone (-want +got):\n%s", diff)
	}
}

func TestOne(t *testing.T) {
	dir := extract(t, platform)
	o := Options{Offline: true, NoCache: true}
	for name, want := range map[string]string{"web": "Deployment web", "off": "ConfigMap off"} {
		c, objects, err := One(context.Background(), dir, name, o)
		if err != nil || c.Name != name || len(objects) != 1 {
			t.Errorf("One(%s) = %s, %d objects, %v", name, c.Name, len(objects), err)
			continue
		}
		if got := objects[0].GetKind() + " " + objects[0].GetName(); got != want {
			t.Errorf("One(%s) = %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"remote": "not rendered offline", "wep": "no component", "nothing-like-it": "no component"} {
		_, _, err := One(context.Background(), dir, name, o)
		var input *repo.InputError
		if !errors.As(err, &input) || !strings.Contains(input.Error(), want) {
			t.Errorf("One(%s): %v, want an *InputError with %q", name, err, want)
		}
	}
}
