package render

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

const withOptions = `
-- kustomized/kustomization.yaml --
resources: [a.yaml]
namePrefix: written-
commonAnnotations: {kept: "yes"}
-- kustomized/a.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 1, template: {spec: {containers: [{name: web, image: "web:1"}]}}}
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [b.yaml]
-- part/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: part}
-- plain/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
-- plain/deep/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
-- plain/deep/c.yml --
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
-- pointer/a.yaml --
version https://git-lfs.github.com/spec/v1
oid sha256:0
size 1
-- packed/Chart.yaml --
{apiVersion: v2, name: packed, version: 1.0.0, dependencies: [{name: sub, version: 1.0.0, repository: "https://charts.example.com"}]}
-- packed/charts/sub-1.0.0.tgz --
version https://git-lfs.github.com/spec/v1
oid sha256:0
size 1
-- chart/Chart.yaml --
{apiVersion: v2, name: chart, version: 1.0.0}
-- chart/templates/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data: {text: {{ .Values.text | quote }}, kind: {{ kindOf .Values.number | quote }}, version: {{ .Capabilities.KubeVersion.Minor | quote }}}
-- files/text.txt --
from a file
`

// TestSourceOptions renders what Applications set over their sources.
func TestSourceOptions(t *testing.T) {
	dir := t.TempDir()
	extract(t, dir, withOptions)
	for name, test := range map[string]struct {
		source model.Source
		want   []string // or the start of the reason
	}{
		"kustomize": {
			model.Source{Kind: model.Kustomize, Path: "kustomized", Kustomize: &model.KustomizeOptions{
				NamePrefix: "set-", Namespace: "n", Images: []string{"web=registry/web:2"}, Replicas: map[string]int{"web": 3},
				CommonAnnotations: map[string]string{"added": "yes"}, Components: []string{"../part"},
				Patches: []any{map[string]any{"target": map[string]any{"kind": "Deployment"}, "patch": `[{"op": "add", "path": "/spec/paused", "value": true}]`}},
			}},
			[]string{
				"Deployment n/set-web map[added:yes kept:yes] replicas=3 paused=true image=registry/web:2",
				"ConfigMap n/set-part map[added:yes kept:yes]",
			},
		},
		"a directory with an include": {
			model.Source{Kind: model.Manifests, Path: "plain", Recurse: true, Include: "*.yaml"},
			[]string{"ConfigMap /a map[]", "ConfigMap /b map[]"},
		},
		"a directory with an exclude": {
			model.Source{Kind: model.Manifests, Path: "plain", Recurse: true, Exclude: "{a.yaml,deep/b.*}"},
			[]string{"ConfigMap /c map[]"},
		},
		"a chart": {
			model.Source{
				Kind: model.Chart, Path: "chart", ReleaseName: "r", Namespace: "elsewhere", KubeVersion: "1.31",
				FileParameters: map[string]string{"text": "files/text.txt"}, StringParameters: map[string]string{"number": "1"},
			},
			[]string{"ConfigMap elsewhere/r map[] data=map[kind:string text:from a file\n version:31]"},
		},
		"a missing file of a parameter": {
			model.Source{Kind: model.Chart, Path: "chart", FileParameters: map[string]string{"text": "files/none.txt"}},
			[]string{"file parameter text: files/none.txt cannot be read"},
		},
		"refused": {
			model.Source{Kind: model.Manifests, Path: "plain", Refused: "Jsonnet is not rendered"},
			[]string{"Jsonnet is not rendered"},
		},
		"a pointer of Git LFS": {
			model.Source{Kind: model.Manifests, Path: "pointer"},
			[]string{"pointer/a.yaml is a pointer of Git LFS"},
		},
		"a dependency of a chart that is a pointer": {
			model.Source{Kind: model.Chart, Path: "packed"},
			[]string{"packed/charts/sub-1.0.0.tgz is a pointer of Git LFS"},
		},
		"a chart that is a pointer": {
			model.Source{Kind: model.Chart, Path: "packed/charts/sub-1.0.0.tgz"},
			[]string{"packed/charts/sub-1.0.0.tgz is a pointer of Git LFS"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(dir, dir, Options{Offline: true, NoCache: true})
			objects, err := r.Component(context.Background(), model.Component{Name: "c", Namespace: "default", Sources: []model.Source{test.source}})
			var refused *Error
			if errors.As(err, &refused) {
				if !strings.HasPrefix(refused.Reason, test.want[0]) {
					t.Fatalf("refused: %s", refused.Reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				line := fmt.Sprintf("%s %s/%s %v", o.GetKind(), o.GetNamespace(), o.GetName(), o.GetAnnotations())
				if spec, ok := o.Object["spec"].(map[string]any); ok {
					pod := spec["template"].(map[string]any)["spec"].(map[string]any)
					image := pod["containers"].([]any)[0].(map[string]any)["image"]
					line += fmt.Sprintf(" replicas=%v paused=%v image=%v", spec["replicas"], spec["paused"], image)
				}
				if data, ok := o.Object["data"]; ok {
					line += fmt.Sprintf(" data=%v", data)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
