package manifest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const lineTemplate = `{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  template:
    spec:
      serviceAccountName: {{ include "sa" . }}
      {{- with .Values.pull }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: web
          env:
            - name: A
              valueFrom:
                secretKeyRef:
                  name: a
            - name: B
              valueFrom:
                secretKeyRef:
                  name: b
      volumes:
        - name: tls
          secret:
            secretName: {{ .Values.tls }}
---
apiVersion: v1
kind: Secret
metadata:
  name: other
spec: {}
{{- end }}
`

func TestLines(t *testing.T) {
	files := map[string]string{
		"t/templates/web.yaml": lineTemplate,
		"plain.yaml":           "# head\nkind: A\nspec:\n  issuerRef:\n    name: ca\n---\nkind: B\nspec: {secretName: x}\n",
		"broken.yaml":          "kind: A\nspec: [\n",
		"values.yaml":          "alert: 'on {{ $labels.pod }}'\nenv:\n- {name: A, value: a}\n- name: B\n  value: b\n",
	}
	reads := map[string]int{}
	lines := NewLines(func(file string) ([]byte, error) {
		reads[file]++
		text, ok := files[file]
		if !ok {
			return nil, errors.New("no such file")
		}
		return []byte(text), nil
	})
	for name, test := range map[string]struct {
		file  string
		line  int
		field string
		want  int
	}{
		"plain":                              {"plain.yaml", 2, "spec.issuerRef.name", 5},
		"second document":                    {"plain.yaml", 7, "spec.secretName", 8},
		"not written":                        {"plain.yaml", 2, "spec.issuerRef.kind", 4},
		"no field":                           {"plain.yaml", 7, "", 7},
		"broken":                             {"broken.yaml", 1, "spec.x", 2},
		"inside a document":                  {"plain.yaml", 3, "issuerRef.name", 5},
		"values for another template":        {"values.yaml", 1, "env[1].value", 5},
		"no file":                            {"gone.yaml", 3, "spec.x", 3},
		"template":                           {"t/templates/web.yaml", 2, "spec.template.spec.serviceAccountName", 9},
		"template, list":                     {"t/templates/web.yaml", 2, "spec.template.spec.volumes[0].secret.secretName", 28},
		"template, ambiguous":                {"t/templates/web.yaml", 2, "spec.template.spec.containers[0].env[1].valueFrom.secretKeyRef.name", 16},
		"template, made by an expression":    {"t/templates/web.yaml", 2, "spec.template.spec.imagePullSecrets[0].name", 11},
		"template, nothing of it is written": {"t/templates/web.yaml", 2, "data.x", 2},
		"template, second document":          {"t/templates/web.yaml", 30, "metadata.name", 33},
		"template, past the end":             {"t/templates/web.yaml", 300, "metadata.name", 300},
	} {
		at := lines.Field(finding.Position{File: test.file, Line: test.line}, test.field)
		if at.Line != test.want || at.File != test.file {
			t.Errorf("%s: %s, want line %d", name, at, test.want)
		}
	}
	if diff := cmp.Diff(map[string]int{"plain.yaml": 1, "broken.yaml": 1, "gone.yaml": 1, "values.yaml": 1, "t/templates/web.yaml": 1}, reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	got := lines.Evidence([]finding.Evidence{{File: "plain.yaml", Line: 7, Field: "spec.secretName"}, {File: "plain.yaml", Line: 7}})
	if diff := cmp.Diff([]finding.Evidence{{File: "plain.yaml", Line: 8, Field: "spec.secretName"}, {File: "plain.yaml", Line: 7}}, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestSyncPlaces(t *testing.T) {
	parsed, err := Parse([]byte(`
apiVersion: v1
kind: Namespace
metadata: {name: apps, annotations: {argocd.argoproj.io/sync-wave: "5"}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.x.io, annotations: {argocd.argoproj.io/sync-wave: "3"}}
spec: {group: x.io, names: {kind: A}}
---
apiVersion: x.io/v1
kind: A
metadata: {name: early, namespace: apps, annotations: {argocd.argoproj.io/sync-wave: "-2"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: "post-install,pre-upgrade", helm.sh/hook-weight: "4"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: both, annotations: {helm.sh/hook: pre-install, argocd.argoproj.io/hook: PostSync, argocd.argoproj.io/sync-wave: x}}
---
apiVersion: v1
kind: Pod
metadata: {name: test, annotations: {helm.sh/hook: test}}
---
apiVersion: v1
kind: Pod
metadata: {name: fail, annotations: {argocd.argoproj.io/hook: SyncFail}}
---
apiVersion: v1
kind: Pod
metadata: {name: skip, annotations: {argocd.argoproj.io/hook: Skip}}
---
apiVersion: x.io/v1
kind: B
metadata: {name: crd, annotations: {helm.sh/hook: crd-install}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var objects []Object
	for _, p := range parsed {
		objects = append(objects, Object{Unstructured: p.Object, Target: p.Object.GetNamespace()})
	}
	want := map[string]SyncPlace{
		"apps":    {Phase: Sync, Wave: -2, Kind: 0},
		"as.x.io": {Phase: Sync, Wave: -2, Kind: 13},
		"early":   {Phase: Sync, Wave: -2, Kind: 35},
		"hook":    {Phase: PreSync, Wave: 4, Kind: 30, Hook: true},
		"both":    {Phase: PostSync, Wave: 0, Kind: 30, Hook: true},
		"crd":     {Phase: Sync, Kind: 35},
	}
	places, applied := SyncPlaces(objects)
	got := map[string]SyncPlace{}
	for i, o := range objects {
		if applied[i] {
			got[o.GetName()] = places[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

// FuzzLines asks for any field in any text: a line that is there comes out.
func FuzzLines(f *testing.F) {
	f.Add([]byte(lineTemplate), 2, "spec.template.spec.volumes[0].secret.secretName")
	f.Add([]byte("- - a: {b: [1]}\n"), 1, "[0][0].a.b[0]")
	f.Fuzz(func(t *testing.T, data []byte, line int, field string) {
		for _, name := range []string{"a.yaml", "a.tpl"} {
			at := NewLines(func(string) ([]byte, error) { return data, nil }).Field(finding.Position{File: name, Line: line}, field)
			if at.Line != line && (at.Line < 1 || at.Line > len(data)+1) {
				t.Errorf("line %d of a text of %d bytes", at.Line, len(data))
			}
		}
	})
}
