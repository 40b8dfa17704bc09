package engine

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestRespecting: what is ignored is sent as it is in the cluster, what is not
// as it is rendered.
func TestRespecting(t *testing.T) {
	const web = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a}, spec: {replicas: 1, template: {spec: {containers: [{name: sidecar, image: "s:1"}, {name: main, image: "m:2", env: [{name: A, value: ours}]}]}}}}`
	const live = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a, managedFields: [{manager: scaler, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:image": {}}}}}}}}]}, spec: {replicas: 7, template: {spec: {containers: [{name: sidecar, image: "s:1"}, {name: main, image: "m:9", env: [{name: A, value: theirs}]}, {name: injected, image: "i:1"}]}}}, status: {replicas: 7}}`
	for name, tc := range map[string]struct {
		ignore     model.IgnoreDifference
		live, want string // of spec; empty live is the one above
		target     string
	}{
		"JSON pointer": {model.IgnoreDifference{Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas", "/spec/nothing/here"}}, live,
			`{replicas: 7, template: {spec: {containers: [{name: sidecar, image: "s:1"}, {name: main, image: "m:2", env: [{name: A, value: ours}]}]}}}`, web},
		"jq": {model.IgnoreDifference{Group: "*", Kind: "*", JQPathExpressions: []string{`.spec.template.spec.containers[] | select(.name == "main") | .image`}}, live,
			`{replicas: 1, template: {spec: {containers: [{name: sidecar, image: "s:1"}, {name: main, image: "m:9", env: [{name: A, value: ours}]}]}}}`, web},
		"jq that fails removes nothing": {model.IgnoreDifference{Group: "apps", Kind: "Deployment", JQPathExpressions: []string{`.spec.replicas[]`}}, live,
			`{replicas: 1, template: {spec: {containers: [{name: sidecar, image: "s:1"}, {name: main, image: "m:2", env: [{name: A, value: ours}]}]}}}`, web},
		"manager of fields": {model.IgnoreDifference{Group: "apps", Kind: "Deployment", ManagedFieldsManagers: []string{"scaler"}}, live,
			`{replicas: 7, template: {spec: {containers: [{name: sidecar, image: "s:1"}, {name: main, image: "m:9", env: [{name: A, value: ours}]}]}}}`, web},
		"a custom resource": {model.IgnoreDifference{Group: "example.com", Kind: "Thing", JSONPointers: []string{"/spec/size", "/spec/a~1b", "/spec/list/0"}},
			`{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {size: 5, a/b: theirs, mode: theirs, list: [x, y]}}`,
			`{size: 5, a/b: theirs, mode: ours, list: [x, y]}`,
			`{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {size: 1, a/b: ours, mode: ours, list: [p, y]}}`},
		"only in what is rendered": {model.IgnoreDifference{Group: "example.com", Kind: "Thing", JSONPointers: []string{"/spec/size"}},
			`{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {mode: theirs}}`, `{mode: ours}`,
			`{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, spec: {size: 1, mode: ours}}`},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := compileIgnore(t.Context(), model.Component{IgnoreDifferences: []model.IgnoreDifference{tc.ignore}})
			if err != nil {
				t.Fatal(err)
			}
			target := parse(t, tc.target)[0].Unstructured
			about, err := rules.about(t.Context(), target)
			if err != nil || len(about) != 1 {
				t.Fatalf("the rule does not match: %v", err)
			}
			got, err := respecting(t.Context(), about, target, parse(t, tc.live)[0].Unstructured)
			if err != nil {
				t.Fatal(err)
			}
			want := parse(t, "{apiVersion: x/v1, kind: X, spec: "+tc.want+"}")[0].Object["spec"]
			if diff := cmp.Diff(plain(t, want), plain(t, got.Object["spec"])); diff != "" {
				t.Error(diff)
			}
			if got.Object["status"] != nil || got.GetManagedFields() != nil {
				t.Error("status or managed fields are sent")
			}
		})
	}
}

// plain is a value as JSON has it: all numbers are of one type.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestIgnoreMatches(t *testing.T) {
	obj := parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a}}")[0].Unstructured
	for name, tc := range map[string]struct {
		rule model.IgnoreDifference
		want bool
	}{
		"exact":             {model.IgnoreDifference{Group: "apps", Kind: "Deployment"}, true},
		"globs":             {model.IgnoreDifference{Group: "*", Kind: "Deploy*"}, true},
		"no group is core":  {model.IgnoreDifference{Kind: "Deployment"}, false},
		"another name":      {model.IgnoreDifference{Group: "apps", Kind: "Deployment", Name: "api"}, false},
		"name":              {model.IgnoreDifference{Group: "apps", Kind: "Deployment", Name: "web", Namespace: "a"}, true},
		"another namespace": {model.IgnoreDifference{Group: "apps", Kind: "Deployment", Namespace: "b"}, false},
	} {
		rules, err := compileIgnore(t.Context(), model.Component{IgnoreDifferences: []model.IgnoreDifference{tc.rule}})
		if err != nil {
			t.Fatal(err)
		}
		about, err := rules.about(t.Context(), obj)
		if got := len(about) == 1; got != tc.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestWrongIgnoreDifferences(t *testing.T) {
	at := finding.Position{File: "apps/web.yaml", Line: 7}
	for name, tc := range map[string]struct {
		rule model.IgnoreDifference
		want string
	}{
		"jq":      {model.IgnoreDifference{JQPathExpressions: []string{".spec["}}, "apps/web.yaml:7: component web: ignoreDifferences[0]: jq expression .spec["},
		"module":  {model.IgnoreDifference{JQPathExpressions: []string{`input`}}, "jq expression input"},
		"pointer": {model.IgnoreDifference{JSONPointers: []string{"spec/replicas"}}, "does not begin with a slash"},
		"glob":    {model.IgnoreDifference{Kind: "[a"}, "kind [a"},
	} {
		_, err := compileIgnore(t.Context(), model.Component{Name: "web", Position: at, IgnoreDifferences: []model.IgnoreDifference{tc.rule}})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What takes for ever, or all there is, is an error of its component: a field that is
// ignored is not written because nobody could tell which it is.
func TestHostileIgnoreDifferences(t *testing.T) {
	obj := parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: a}}")[0].Unstructured
	for name, tc := range map[string]struct{ text, want string }{
		"endless":  {"def f: f; f", "ran longer than"},
		"many":     {"[range(1e12)]", "ran longer than|MiB of memory"},
		"doubling": {`reduce range(60) as $i ("x"; . + .)`, "ran longer than|MiB of memory"},
		"brackets": {strings.Repeat("[", 1_000_000), "jq expression|nests without end|ran longer than|MiB of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "brackets" && testing.Short() {
				t.Skip("uses the time of a worker up")
			}
			rule := model.IgnoreDifference{Group: "apps", Kind: "Deployment", JQPathExpressions: []string{tc.text}}
			rules, err := compileIgnore(t.Context(), model.Component{Name: "web", IgnoreDifferences: []model.IgnoreDifference{rule}})
			if err == nil {
				about, aboutErr := rules.about(t.Context(), obj)
				if aboutErr != nil || len(about) != 1 {
					t.Fatal(aboutErr)
				}
				_, err = respecting(t.Context(), about, obj, obj)
			}
			if err == nil || len(err.Error()) > 2000 || !regexp.MustCompile(tc.want).MatchString(err.Error()) {
				t.Errorf("error %.2000v", err)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	c := model.Component{Name: "app", Position: finding.Position{File: "a.yaml", Line: 1}, SyncOptions: []string{
		"CreateNamespace=true", "ServerSideApply=true", "ServerSideAply=true", "PruneLast=yes", "PrunePropagationPolicy=background",
	}}
	objects := map[string][]manifest.Object{"app": parse(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {argocd.argoproj.io/sync-options: "Prune=confirm,Replace=true"}}}`)}
	var got []string
	for _, f := range Notes([]model.Component{c}, objects) {
		got = append(got, string(f.Severity)+" "+f.Message)
	}
	want := []string{
		"warning sync option PruneLast=yes of component app is neither true nor false, and has no effect",
		"warning sync option ServerSideAply=true of component app is not known, and has no effect",
		"info sync option Prune=confirm of ConfigMap a waits for a confirmation in Argo CD; here the object is kept",
		"info sync option PrunePropagationPolicy=background of component app has no effect: objects are deleted in the foreground, so that their ends are seen",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A field that an autoscaler has set stays where it is ignored and respected; it
// is applied where it is only ignored.
func TestClusterIgnoreDifferences(t *testing.T) {
	const text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: ours, size: '1'}}"
	for name, tc := range map[string]struct {
		options []string
		want    map[string]string
	}{
		"respected": {[]string{"CreateNamespace=true", "RespectIgnoreDifferences=true"}, map[string]string{"mode": "ours2", "size": "7"}},
		"compared":  {[]string{"CreateNamespace=true"}, map[string]string{"mode": "ours2", "size": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx := w.context()
			component := "app-" + w.ns
			m := model.Component{Name: component, SyncOptions: tc.options, IgnoreDifferences: []model.IgnoreDifference{
				{Kind: "ConfigMap", JSONPointers: []string{"/data/size"}},
			}}
			mustSync(t, ctx, w.engine("r1", map[string]string{component: text}, m), component)
			client := w.client.Resource(configMaps).Namespace(w.ns)
			if _, err := client.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"size":"7"}}`), metav1.PatchOptions{FieldManager: "scaler"}); err != nil {
				t.Fatal(err)
			}
			e := w.engine("r2", map[string]string{component: strings.ReplaceAll(text, "ours", "ours2")}, m)
			mustSync(t, ctx, e, component)
			live := w.get(ctx, configMaps, "a")
			got, _, _ := unstructured.NestedStringMap(live.Object, "data")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			w.watch(e).until(t, ctx, "healthy", healthyAt(component, "r2"))
		})
	}
}

// Replace=true with Force=true makes an object anew, once in a rollout.
func TestClusterReplaceForce(t *testing.T) {
	const text = "{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: a, annotations: {argocd.argoproj.io/sync-options: 'Replace=true,Force=true'}}, data: {v: '1'}}"
	w := newWorld(t)
	ctx := w.context()
	name := "app-" + w.ns
	m := model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}}
	mustSync(t, ctx, w.engine("r1", map[string]string{name: text}, m), name)
	first := w.get(ctx, configMaps, "a").GetUID()
	changed := map[string]string{name: strings.ReplaceAll(text, "'1'", "'2'")}
	mustSync(t, ctx, w.engine("r2", changed, m), name)
	second := w.get(ctx, configMaps, "a")
	if v, _, _ := unstructured.NestedString(second.Object, "data", "v"); v != "2" || second.GetUID() == first {
		t.Errorf("the object was not made anew: %v", second.Object)
	}
	mustSync(t, ctx, w.engine("r2", changed, m), name)
	if w.get(ctx, configMaps, "a").GetUID() != second.GetUID() {
		t.Error("the object was made anew twice in one rollout")
	}
}

// get reads an object of the test's namespace.
func (w *world) get(ctx context.Context, gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	live, err := w.client.Resource(gvr).Namespace(w.ns).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return live
}
