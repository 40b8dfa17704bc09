package render

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const partial = `
-- umbrella/Chart.yaml --
apiVersion: v2
name: umbrella
version: 1.0.0
dependencies:
- {name: db, version: 1.x.x, repository: "https://charts.example.com", alias: store, condition: store.enabled}
- {name: cache, version: 1.x.x, repository: "https://charts.example.com", condition: cache.enabled}
-- umbrella/values.yaml --
store: {size: 1Gi, enabled: true}
cache: {enabled: false}
-- umbrella/templates/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
-- overlay/kustomization.yaml --
resources:
- https://example.com/base.yaml
- own.yaml
helmCharts:
- {name: db, repo: "https://charts.example.com", version: 1.2.3, releaseName: db, namespace: data, includeCRDs: true, valuesInline: {size: 2Gi}}
patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: of-the-base}
    spec: {replicas: 3}
-- overlay/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
-- nothing/kustomization.yaml --
resources:
- github.com/example/manifests//base?ref=v1
-- above/kustomization.yaml --
resources: [own.yaml, plex, base]
-- above/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
-- above/plex/kustomization.yaml --
helmCharts:
- {name: plex, repo: "https://charts.example.com", version: 1.2.3, releaseName: plex}
-- above/base/kustomization.yaml --
resources:
- https://example.com/base.yaml
-- plain/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
`

// TestPartial: what is remote is left out and named with its values, and the
// rest is rendered. Not asked for, a part is no result.
func TestPartial(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, partial)
	mixed := of("mixed", model.Manifests, "plain")
	mixed.Sources = append([]model.Source{{Kind: model.Chart, RepoURL: "https://charts.example.com", Name: "web", Version: "2.0.0", Position: mixed.Sources[0].Position}}, mixed.Sources...)
	components := []model.Component{
		chart("umbrella", "umbrella"), of("overlay", model.Kustomize, "overlay"), of("nothing", model.Kustomize, "nothing"), of("above", model.Kustomize, "above"), mixed,
	}
	r := New(dir, dir, Options{Offline: true, CacheDir: t.TempDir(), Partial: true})
	for range 2 { // what is lacking is not lost in the cache
		got := map[string][]string{}
		for _, result := range r.All(context.Background(), components, nil) {
			if result.Err == nil || !errors.Is(result.Err, result.Lacking[0]) {
				t.Errorf("%s: error %v", result.Component, result.Err)
			}
			for _, l := range result.Lacking {
				values, _ := json.Marshal(l.Missing.Values)
				text := l.Source + " as " + l.Missing.ReleaseName + " with " + string(values) + " at " + l.Position.String()
				got[result.Component] = append(got[result.Component], text)
			}
			for _, o := range result.Objects {
				got[result.Component] = append(got[result.Component], o.GetKind()+" "+o.GetName())
			}
		}
		want := map[string][]string{
			"umbrella": {`https://charts.example.com/db 1.x.x as umbrella with {"enabled":true,"nameOverride":"store","size":"1Gi"} at umbrella/Chart.yaml:5`, "ConfigMap own"},
			"overlay": {
				"https://example.com/base.yaml as  with null at overlay/kustomization.yaml:2",
				`https://charts.example.com/db 1.2.3 as db with {"size":"2Gi"} at overlay/kustomization.yaml:5`, "ConfigMap own",
			},
			"nothing": {"github.com/example/manifests//base?ref=v1 as  with null at nothing/kustomization.yaml:2"},
			"above": {
				"https://charts.example.com/plex 1.2.3 as plex with {} at above/plex/kustomization.yaml:2",
				"https://example.com/base.yaml as  with null at above/base/kustomization.yaml:2", "ConfigMap own",
			},
			"mixed": {"https://charts.example.com/web 2.0.0 as mixed with null at mixed.yaml:3", "ConfigMap own"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lacking and objects (-want +got):\n%s", diff)
		}
	}
	for _, result := range New(dir, dir, Options{Offline: true, NoCache: true}).All(context.Background(), components, nil) {
		if result.Err == nil || len(result.Objects) > 0 {
			t.Errorf("%s without a part: %v, %d objects", result.Component, result.Err, len(result.Objects))
		}
	}
}

// TestKnownCRDs: charts are told the kinds that are known of what is lacking,
// and objects of cluster-wide ones are in no namespace.
func TestKnownCRDs(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, platform+`
-- others/thing.yaml --
apiVersion: monitoring.coreos.com/v1
kind: ClusterThing
metadata: {name: one}
`)
	remote := chart("operator", "")
	remote.Sources = []model.Source{{Kind: model.Chart, RepoURL: "https://charts.example.com", Name: "operator", Version: "1.0.0"}}
	r := New(dir, dir, Options{Offline: true, NoCache: true, Partial: true, Known: func(e *Error) []manifest.CRD {
		if e.Missing.Name != "operator" {
			return nil
		}
		return []manifest.CRD{
			{Group: "monitoring.coreos.com", Kind: "ServiceMonitor", Plural: "servicemonitors", Versions: []string{"v1"}},
			{Group: "monitoring.coreos.com", Kind: "ClusterThing", Plural: "clusterthings", ClusterWide: true, Versions: []string{"v1"}},
		}
	}})
	results := r.All(context.Background(), []model.Component{chart("app", "charts/monitored"), of("others", model.Manifests, "others"), remote}, nil)
	if len(results[0].Objects) != 1 || results[0].Objects[0].GetKind() != "ServiceMonitor" {
		t.Errorf("the chart was not told: %v", results[0].Objects)
	}
	if len(results[1].Objects) != 1 || results[1].Objects[0].Target != "" {
		t.Errorf("the object of a cluster-wide kind: %v", results[1].Objects)
	}
	if !slices.ContainsFunc(results, func(r Result) bool { return len(r.Lacking) == 1 }) {
		t.Error("nothing is lacking")
	}
}

// TestIncomplete: a source of which values are not known is rendered without them,
// and is lacking all the same; where it fails without them, that is no mistake of
// the repository.
func TestIncomplete(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, `
-- whole/Chart.yaml --
{apiVersion: v2, name: whole, version: 1.0.0}
-- whole/templates/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
-- strict/Chart.yaml --
{apiVersion: v2, name: strict, version: 1.0.0}
-- strict/templates/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ required "a name" .Values.name }}}
`)
	const why = "helm.values needs a parameter"
	whole, strict := chart("whole", "whole"), chart("strict", "strict")
	whole.Sources[0].Incomplete, strict.Sources[0].Incomplete = why, why
	r := New(dir, dir, Options{Offline: true, CacheDir: t.TempDir(), Partial: true})
	if _, complete := r.Values(whole.Sources[0]); complete {
		t.Error("the values are taken for complete")
	}
	for range 2 { // and from the cache
		results := r.All(context.Background(), []model.Component{whole, strict}, nil)
		for i, objects := range []int{1, 0} {
			got := results[i]
			if len(got.Lacking) != 1 || !got.Lacking[0].Part || !strings.Contains(got.Lacking[0].Reason, why) {
				t.Fatalf("%s: lacking %v", got.Component, got.Lacking)
			}
			if len(got.Objects) != objects || got.Lacking[0].Missing.ReleaseName != got.Component {
				t.Errorf("%s: %d objects, lacking %+v", got.Component, len(got.Objects), got.Lacking[0])
			}
		}
	}
}

// TestWithout: where a dependency is lacking, a template that fails may have needed
// what the dependency defines, and that is no mistake of the repository. A text that is
// no template is one, whatever is lacking.
func TestWithout(t *testing.T) {
	for name, tc := range map[string]struct {
		name, suffix string
		part         bool
	}{
		"what the dependency may define": {`{{ include "lib.name" . }}`, "(the dependency lib is not rendered, and may be what it needs)", true},
		"no template":                    {`{{ if .Values.on }}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			extract(t, dir, `
-- app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
dependencies:
- {name: lib, version: 1.x.x, repository: "https://charts.example.com"}
-- app/templates/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: `+tc.name+`}
`)
			got := New(dir, dir, Options{Offline: true, NoCache: true, Partial: true}).All(context.Background(), []model.Component{chart("app", "app")}, nil)[0]
			if len(got.Lacking) != 2 {
				t.Fatalf("lacking %v", got.Lacking)
			}
			if dependency, own := got.Lacking[0], got.Lacking[1]; !dependency.Part || own.Part != tc.part || !strings.HasSuffix(own.Reason, tc.suffix) {
				t.Errorf("the dependency %t, the template %t: %s", dependency.Part, own.Part, own.Reason)
			}
		})
	}
}

const decrypting = `
-- overlay/kustomization.yaml --
resources: [own.yaml]
generators: [secrets.yaml]
transformers:
- |-
  apiVersion: example.com/v1
  kind: Stamp
  metadata: {name: stamp}
patches:
- target: {kind: Secret, name: db}
  patch: |
    apiVersion: v1
    kind: Secret
    metadata: {name: db, annotations: {argocd.argoproj.io/sync-wave: "-2"}}
-- overlay/own.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
-- overlay/secrets.yaml --
apiVersion: viaduct.ai/v1
kind: Ksops
metadata: {name: secrets}
files: [db.enc.yaml, endpoints.enc.yaml, missing.yaml]
-- overlay/endpoints.enc.yaml --
apiVersion: v1
kind: Endpoints
metadata: {name: nas, annotations: {note: "ENC[AES256_GCM,data:bm90ZQ,type:str]", kept: "1"}}
subsets: [{addresses: [{ip: "ENC[AES256_GCM,data:MTA,type:str]"}], ports: [{port: 80}]}]
sops: {mac: "ENC[AES256_GCM,data:bWFj,type:str]", version: 3.8.1}
-- overlay/db.enc.yaml --
# kept with the repository
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: "ENC[AES256_GCM,data:c2VjcmV0,type:str]"}
sops: {mac: "ENC[AES256_GCM,data:bWFj,type:str]", version: 3.8.1}
`

// TestPrograms: a plugin that is a program is not run, and what an encrypted Secret
// is called is known all the same.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, decrypting)
	overlay := []model.Component{of("overlay", model.Kustomize, "overlay")}
	whole := New(dir, dir, Options{Offline: true, NoCache: true}).All(context.Background(), overlay, nil)[0]
	if whole.Err == nil {
		t.Error("it is rendered without the program")
	}
	r := New(dir, dir, Options{Offline: true, CacheDir: t.TempDir(), Partial: true})
	for range 2 { // and from the cache
		got := r.All(context.Background(), overlay, nil)[0]
		var told []string
		for _, l := range got.Lacking {
			told = append(told, l.Position.String()+" "+l.Reason)
		}
		want := []string{
			"overlay/kustomization.yaml:2 generator secrets.yaml needs the plugin Ksops, which is not run",
			"overlay/kustomization.yaml:4 transformer apiVersion: example.com/v1 needs the plugin Stamp, which is not run",
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("lacking:\n%s", diff)
		}
		if len(got.Objects) != 3 {
			t.Fatalf("objects %v", got.Objects)
		}
		endpoints := map[string]any{
			"apiVersion": "v1", "kind": "Endpoints", "metadata": map[string]any{"name": "nas", "annotations": map[string]any{"kept": "1"}},
			"subsets": []any{map[string]any{"addresses": []any{map[string]any{}}, "ports": []any{map[string]any{"port": int64(80)}}}},
		}
		if diff := cmp.Diff(endpoints, got.Objects[2].Object); diff != "" {
			t.Errorf("what is encrypted in part (-want +got):\n%s", diff)
		}
		secret := got.Objects[1]
		values, _ := secret.Object["stringData"].(map[string]any)
		if diff := cmp.Diff(map[string]any{"password": ""}, values); diff != "" || secret.Object["sops"] != nil {
			t.Errorf("the secret: %v", secret.Object)
		}
		if secret.GetAnnotations()["argocd.argoproj.io/sync-wave"] != "-2" || secret.Origin.Position().String() != "overlay/db.enc.yaml:2" {
			t.Errorf("annotations %v, origin %v", secret.GetAnnotations(), secret.Origin)
		}
	}
}
