package render

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

const canary = "canary-7Qv9xK2mB4sT"

const secretive = `
-- app/Chart.yaml --
{apiVersion: v2, name: app, version: 1.0.0}
-- app/values.yaml --
password: CANARY
-- app/templates/all.yaml --
apiVersion: v1
kind: Secret
metadata:
  name: chart
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"password":"{{ .Values.password }}"}}', kept: "yes"}
type: Opaque
stringData: {password: {{ .Values.password }}}
data: {encoded: {{ .Values.password | b64enc }}}
stringdata: {misspelt: {{ .Values.password }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: chart}
data: {shown: "yes"}
-- built/kustomization.yaml --
secretGenerator: [{name: built, literals: [password=CANARY]}]
-- plain/all.yaml --
apiVersion: v1
kind: SecretList
items:
- {metadata: {name: plain}, data: [CANARY]}
- {metadata: {name: empty}}
-- umbrella/Chart.yaml --
apiVersion: v2
name: umbrella
version: 1.0.0
dependencies: [{name: db, version: 1.0.0, repository: "https://charts.example.com"}]
-- umbrella/values.yaml --
db: {password: CANARY}
-- none/all.yaml --
{apiVersion: v1, kind: Secret, metadata: {name: none}}
`

// TestCacheHoldsNoSecretValues: who needs the values gets them, with any cache;
// who needs the keys gets the same from a cold cache, a warm one, and none.
func TestCacheHoldsNoSecretValues(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, strings.ReplaceAll(secretive, "CANARY", canary))
	components := []model.Component{
		chart("app", "app"), of("built", model.Kustomize, "built"), of("plain", model.Manifests, "plain"), chart("umbrella", "umbrella"),
	}
	cache := t.TempDir()
	// What an older version left.
	old := filepath.Join(cache, "render", "ab", "old.json")
	if err := os.MkdirAll(filepath.Dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	rendered := func(o Options) string {
		t.Helper()
		o.Offline, o.Partial = true, true
		var b strings.Builder
		for _, result := range New(dir, dir, o).All(context.Background(), components, nil) {
			for _, object := range result.Objects {
				text, err := json.Marshal(object.Object)
				if err != nil {
					t.Fatal(err)
				}
				b.Write(append(text, '\n'))
			}
		}
		return b.String()
	}
	values, keys := rendered(Options{NoCache: true}), rendered(Options{NoCache: true, SecretKeysOnly: true})
	if n := strings.Count(values, canary); n != 4 || strings.Count(values, base64.StdEncoding.EncodeToString([]byte(canary))) != 2 {
		t.Errorf("the values stand %d times in\n%s", n, values)
	}
	want := `{"apiVersion":"v1","data":{"encoded":"[redacted]"},"kind":"Secret","metadata":{"annotations":{"kept":"yes","kubectl.kubernetes.io/last-applied-configuration":"[redacted]"},"name":"chart"},"stringData":{"password":"[redacted]"},"stringdata":"[redacted]","type":"Opaque"}
{"apiVersion":"v1","data":{"shown":"yes"},"kind":"ConfigMap","metadata":{"name":"chart"}}
{"apiVersion":"v1","data":{"password":"[redacted]"},"kind":"Secret","metadata":{"name":"NAME"},"type":"Opaque"}
{"apiVersion":"v1","data":"[redacted]","kind":"Secret","metadata":{"name":"plain"}}
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"empty"}}
`
	_, name, _ := strings.Cut(keys, `"built-`)
	name, _, _ = strings.Cut(name, `"`)
	if diff := cmp.Diff(strings.Replace(want, "NAME", "built-"+name, 1), keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for _, step := range []struct {
		what string
		o    Options
		want string
	}{
		{"keys, cold", Options{SecretKeysOnly: true}, keys},
		{"keys, warm", Options{SecretKeysOnly: true}, keys},
		{"values, from a cache without them", Options{}, values},
		{"values, again", Options{}, values},
		{"keys, after values", Options{SecretKeysOnly: true}, keys},
	} {
		step.o.CacheDir = cache
		if diff := cmp.Diff(step.want, rendered(step.o)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	files := 0
	err := filepath.WalkDir(cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
			if strings.Contains(string(text), form) {
				t.Errorf("%s holds the value of a Secret:\n%s", path, text)
			}
		}
		return err
	})
	if err != nil || files != 3 {
		t.Errorf("%d files in the cache, %v", files, err)
	}
}

// Where no Secret has values, who needs them is served from the cache too.
func TestCacheServesWhoNeedsValues(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, secretive)
	r := New(dir, dir, Options{Offline: true, CacheDir: t.TempDir()})
	for name, want := range map[string]bool{"none": true, "plain": false} {
		c := of(name, model.Manifests, name)
		if _, err := r.Component(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		key, _ := question{Format: formatVersion, Namespace: c.Namespace, Release: c.Name, Offline: true, MaxOutput: DefaultMaxOutput, Source: c.Sources[0]}.key()
		if e, ok := r.cache.find(key, r.tree); !ok || e.Dropped == want {
			t.Errorf("%s: found %t, dropped %t", name, ok, e.Dropped)
		}
	}
}

// TestCacheHoldsNoCopiedValues: kustomize copies the value of a Secret into another object, and may leave out
// the Secret: nothing of it is written. What copies where no Secret is stays cached.
func TestCacheHoldsNoCopiedValues(t *testing.T) {
	const (
		target = "-- CASE/target.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: target}, data: {shown: none}}\n"
		copies = "replacements:\n- source: {kind: Secret, name: origin, fieldPath: stringData.password}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.shown]}]\n"
		origin = "-- CASE/origin.yaml --\napiVersion: v1\nkind: Secret\nmetadata:\n  name: origin\n  annotations: {ANNOTATION: \"true\"}\nstringData: {password: CANARY}\n"
		local  = "config.kubernetes.io/local-config"
	)
	for name, c := range map[string]struct {
		files string
		kept  bool
	}{
		"a Secret that stays":                        {strings.ReplaceAll(origin, "ANNOTATION", "other") + "-- CASE/kustomization.yaml --\nresources: [origin.yaml, target.yaml]\n" + copies, false},
		"a Secret that is left out":                  {strings.ReplaceAll(origin, "ANNOTATION", local) + "-- CASE/kustomization.yaml --\nresources: [origin.yaml, target.yaml]\n" + copies, false},
		"a Secret that goes later":                   {strings.ReplaceAll(origin, "ANNOTATION", "other") + "-- CASE/kustomization.yaml --\nresources: [below]\npatches: [{patch: \"{$patch: delete, apiVersion: v1, kind: Secret, metadata: {name: origin}}\"}]\n-- CASE/below/kustomization.yaml --\nresources: [../origin.yaml, ../target.yaml]\n" + copies, false},
		"a transformer in a file":                    {strings.ReplaceAll(origin, "ANNOTATION", local) + "-- CASE/kustomization.yaml --\nresources: [origin.yaml, target.yaml]\ntransformers: [copy.yaml]\n-- CASE/copy.yaml --\napiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: copy}\n" + copies, false},
		"a Secret that a patch makes something else": {strings.ReplaceAll(origin, "ANNOTATION", "other") + "-- CASE/kustomization.yaml --\nresources: [origin.yaml, target.yaml]\npatches:\n- target: {kind: Secret}\n  patch: '- {op: replace, path: /kind, value: ConfigMap}'\n  options: {allowKindChange: true}\n", false},
		"a patch that copies within the Secret":      {strings.ReplaceAll(origin, "ANNOTATION", "other") + "-- CASE/kustomization.yaml --\nresources: [origin.yaml, target.yaml]\npatches:\n- target: {kind: Secret}\n  patch: '- {op: copy, from: /stringData/password, path: /metadata/annotations/other}'\n", false},
		"a patch beside a reference to a Secret":     {"-- CASE/kustomization.yaml --\nresources: [target.yaml, store.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '- {op: add, path: /data/seen, value: CANARY}'\n-- CASE/store.yaml --\napiVersion: external-secrets.io/v1\nkind: SecretStore\nmetadata: {name: s}\nspec: {provider: {fake: {secretRef: {name: s}}}}\n", true},
		"a copy of something public":                 {"-- CASE/kustomization.yaml --\nresources: [target.yaml, source.yaml]\nreplacements:\n- source: {kind: Service, name: CANARY}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.shown]}]\n-- CASE/source.yaml --\n{apiVersion: v1, kind: Service, metadata: {name: CANARY}}\n", true},
		"no copy":                                    {"-- CASE/kustomization.yaml --\nresources: [target.yaml]\nsecretGenerator: [{name: built, literals: [password=CANARY]}]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			root, cache := t.TempDir(), t.TempDir()
			text := strings.ReplaceAll(strings.ReplaceAll(target+c.files, "CASE", "case"), "CANARY", strings.ToLower(canary))
			extract(t, root, "-- other/kustomization.yaml --\nresources: [../case]\n"+text)
			r := New(root, root, Options{Offline: true, CacheDir: cache})
			for _, result := range r.All(t.Context(), []model.Component{of("case", model.Kustomize, "case"), of("other", model.Kustomize, "other")}, nil) {
				if result.Err != nil {
					t.Fatal(result.Err)
				}
			}
			if _, err := r.Build(t.Context(), func() source.View { return r.tree.View() }, "case", ""); err != nil {
				t.Fatal(err)
			}
			held := 0
			err := filepath.WalkDir(cache, func(name string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(name)
				if strings.Contains(string(data), strings.ToLower(canary)) {
					held++
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if (held > 0) != c.kept {
				t.Errorf("%d entries hold the value", held)
			}
		})
	}
}
