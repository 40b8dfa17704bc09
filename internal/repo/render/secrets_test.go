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
