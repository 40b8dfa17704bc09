package postbuild_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/postbuild"
)

func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte("apiVersion: v1\nkind: ConfigMap\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	o := map[string]any{}
	if err := utiljson.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	return manifest.Object{Unstructured: &unstructured.Unstructured{Object: o}}
}

func TestApply(t *testing.T) {
	variables := map[string]string{"domain": "example.org", "replicas": "3", "empty": ""}
	closed := &model.PostBuild{Substitute: true, Variables: variables}
	open := &model.PostBuild{Substitute: true, Open: true, Variables: variables}
	for name, test := range map[string]struct {
		build      *model.PostBuild
		text, want string
	}{
		"nothing to do":                    {nil, "metadata: {name: c}\ndata: {a: '${domain}'}", "metadata: {name: c}\ndata: {a: '${domain}'}"},
		"a variable":                       {closed, "metadata: {name: c}\ndata: {a: 'x.${domain}'}", "metadata: {name: c}\ndata: {a: x.example.org}"},
		"a number":                         {closed, "metadata: {name: c}\nspec: {replicas: '${replicas}'}", "metadata: {name: c}\nspec: {replicas: 3}"},
		"a function":                       {closed, "metadata: {name: c}\ndata: {a: '${domain^^}'}", "metadata: {name: c}\ndata: {a: EXAMPLE.ORG}"},
		"escaped":                          {closed, "metadata: {name: c}\ndata: {a: '$${domain}'}", "metadata: {name: c}\ndata: {a: '${domain}'}"},
		"a default":                        {closed, "metadata: {name: c}\ndata: {a: '${other:=x}', b: '${empty:=x}'}", "metadata: {name: c}\ndata: {a: x, b: x}"},
		"no value is empty":                {closed, "metadata: {name: c}\ndata: {a: 'x${other}'}", "metadata: {name: c}\ndata: {a: x}"},
		"a value elsewhere is not known":   {open, "metadata: {name: c}\ndata: {a: 'x${other}', b: '${domain}'}", "metadata: {name: c}\ndata: {a: 'x${other}', b: example.org}"},
		"a default where there may be one": {open, "metadata: {name: c}\ndata: {a: '${other:-x}'}", "metadata: {name: c}\ndata: {a: x}"},
		"with a default and without":       {open, "metadata: {name: c}\ndata: {a: '${other:=7}', b: '${other}', c: '$${other}'}", "metadata: {name: c}\ndata: {a: 7, b: '${other}', c: '${other}'}"},
		"switched off":                     {closed, "metadata: {name: c, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {a: '${domain}'}", "metadata: {name: c, labels: {kustomize.toolkit.fluxcd.io/substitute: disabled}}\ndata: {a: '${domain}'}"},
		"encrypted":                        {open, "metadata: {name: c}\ndata: {a: 'ENC[AES256_GCM,data:x]', b: c}\nsops: {mac: m}", "metadata: {name: c}\ndata: {a: '', b: c}"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []manifest.Object{object(t, test.text)}
			if err := postbuild.Apply(objects, test.build, 1<<20); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(t, test.want).Object, objects[0].Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"an unfinished variable":  "metadata: {name: c}\ndata: {a: '${domain'}",
		"a value that is no YAML": "metadata: {name: c}\ndata: {a: '${breaks}'}",
	} {
		t.Run(name, func(t *testing.T) {
			build := &model.PostBuild{Substitute: true, Variables: map[string]string{"breaks": "x: y: z"}}
			if err := postbuild.Apply([]manifest.Object{object(t, text)}, build, 1<<20); err == nil || !strings.Contains(err.Error(), "ConfigMap c") {
				t.Errorf("error %v", err)
			}
		})
	}
	large := &model.PostBuild{Substitute: true, Variables: map[string]string{"v": strings.Repeat("x", 1000)}}
	if err := postbuild.Apply([]manifest.Object{object(t, "metadata: {name: c}\ndata: {a: '${v}${v}'}")}, large, 1500); err == nil {
		t.Error("what grows over the limit is taken")
	}
}
