package engine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// What starts a cluster before Argo CD is there does not take back what a component
// of the ladder has adopted since.
func TestClusterAdoptedStays(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	first, network := "first-"+w.ns, "network-"+w.ns
	into := []string{"CreateNamespace=true"}
	components := []model.Component{{Name: first, PreArgo: true, SyncOptions: into}, {Name: network, SyncOptions: into}}
	texts := map[string]string{
		first:   "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {by: first}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {by: first}}",
		network: "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {by: network}}",
	}
	by := func() any {
		data, _, _ := unstructured.NestedString(w.get(ctx, configMaps, "shared").Object, "data", "by")
		return data
	}
	e := w.engine("r1", texts, components...)
	mustSync(t, ctx, e, first)
	if got := by(); got != "first" {
		t.Errorf("at first it is of %s", got)
	}
	mustSync(t, ctx, e, network)
	if got := by(); got != "network" {
		t.Errorf("then it is of %s", got)
	}
	again := w.engine("r2", texts, components...)
	differences, err := again.Preview(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences {
		if d.Action != "keep" {
			t.Errorf("a preview says %s of %s, %v", d.Action, d.Object.Human(), d.Fields)
		}
	}
	mustSync(t, ctx, again, first)
	if got := by(); got != "network" {
		t.Errorf("the component that had adopted it lost it to %s", got)
	}
	w.watch(again).until(t, ctx, "healthy", healthyAt(first, "r2"))
	// Without its adopter it is anybody's.
	mustSync(t, ctx, w.engine("r3", texts, components[0]), first)
	if got := by(); got != "first" {
		t.Errorf("nobody else renders it, and it is of %s", got)
	}
}

// The rules of an aggregated ClusterRole are the control plane's.
func TestClusterAggregatedRules(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	name := "sum-" + w.ns
	texts := map[string]string{name: "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + name + "}\nrules: []\naggregationRule: {clusterRoleSelectors: [{matchLabels: {sum: x}}]}"}
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	mustSync(t, ctx, w.engine("r1", texts, model.Component{Name: name}), name)
	// As the control plane does.
	filled := `{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`
	if _, err := w.client.Resource(roles).Patch(ctx, name, types.MergePatchType, []byte(filled), metav1.PatchOptions{FieldManager: "clusterrole-aggregation-controller"}); err != nil {
		t.Fatal(err)
	}
	mustSync(t, ctx, w.engine("r2", texts, model.Component{Name: name}), name)
	role, err := w.client.Resource(roles).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rules, _, _ := unstructured.NestedSlice(role.Object, "rules"); len(rules) != 1 {
		t.Errorf("the rules are %v", rules)
	}
}
