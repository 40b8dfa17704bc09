package engine

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

func parse(t *testing.T, text string) []manifest.Object {
	t.Helper()
	var out []manifest.Object
	for _, doc := range strings.Split(text, "\n---\n") {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, manifest.Object{Unstructured: &u})
	}
	return out
}

// shape prints tasks as "Phase wave Kind/name", hooks with a star.
func shape(tasks []*task) []string {
	var out []string
	for _, t := range tasks {
		star := ""
		if t.hook {
			star = "*"
		}
		out = append(out, fmt.Sprintf("%s %d %s/%s%s", t.phase, t.wave, t.resource.Kind, t.resource.Name, star))
	}
	return out
}

func TestPlanTasks(t *testing.T) {
	for name, tc := range map[string]struct {
		objects string
		want    []string
	}{
		"kinds": {`
{apiVersion: v1, kind: Service, metadata: {name: s}}
---
{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: home}}`,
			[]string{"Sync 0 Namespace/home", "Sync 0 ConfigMap/a", "Sync 0 ConfigMap/b", "Sync 0 Service/s", "Sync 0 Deployment/d", "Sync 0 Thing/t"}},
		"waves": {`
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {argocd.argoproj.io/sync-wave: "10"}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, annotations: {argocd.argoproj.io/sync-wave: "-1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: c, annotations: {argocd.argoproj.io/sync-wave: "x"}}}`,
			[]string{"Sync -1 Deployment/b", "Sync 0 Secret/c", "Sync 10 ConfigMap/a"}},
		"hooks of Argo CD": {`
{apiVersion: batch/v1, kind: Job, metadata: {name: both, annotations: {argocd.argoproj.io/hook: "PreSync,PostSync"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: fail, annotations: {argocd.argoproj.io/hook: SyncFail}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: skip, annotations: {argocd.argoproj.io/hook: Skip}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: gone, annotations: {argocd.argoproj.io/hook: PostDelete}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: plain}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: sync, annotations: {argocd.argoproj.io/hook: Sync, argocd.argoproj.io/sync-wave: "3"}}}`,
			[]string{"PreSync 0 Job/both*", "Sync 0 Job/plain", "Sync 3 Job/sync*", "PostSync 0 Job/both*", "SyncFail 0 Job/fail*"}},
		"hooks of Helm": {`
{apiVersion: batch/v1, kind: Job, metadata: {name: pre, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-5"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: post, annotations: {helm.sh/hook: post-install}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: test, annotations: {helm.sh/hook: test}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: delete, annotations: {helm.sh/hook: pre-delete}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: crd, annotations: {helm.sh/hook: crd-install}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: argo, annotations: {helm.sh/hook: pre-install, argocd.argoproj.io/hook: PostSync}}}`,
			[]string{"PreSync -5 Job/pre*", "Sync 0 ConfigMap/crd", "PostSync 0 Job/argo*", "PostSync 0 Job/post*"}},
		"generated name": {`
{apiVersion: batch/v1, kind: Job, metadata: {generateName: migrate-, annotations: {argocd.argoproj.io/hook: PreSync}}}`,
			[]string{"PreSync 0 Job/migrate-abcdef0-presync*"}},
		"namespace and CRD move to who needs them": {`
{apiVersion: v1, kind: Namespace, metadata: {name: home, annotations: {argocd.argoproj.io/sync-wave: "5"}}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, names: {kind: Thing}}}
---
{apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: home, annotations: {argocd.argoproj.io/sync-wave: "-2"}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: home, annotations: {argocd.argoproj.io/hook: PreSync}}}`,
			[]string{"PreSync 0 Namespace/home", "PreSync 0 Job/j*", "Sync -2 CustomResourceDefinition/things.example.com", "Sync -2 Thing/t"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := shape(planTasks(parse(t, tc.objects), options{}, "ABCDEF0123"))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletePolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations string
		want        []deletePolicy
	}{
		"default": {"{}", []deletePolicy{beforeHookCreation}},
		"argo":    {"{argocd.argoproj.io/hook-delete-policy: 'HookSucceeded, HookFailed'}", []deletePolicy{hookSucceeded, hookFailed}},
		"helm":    {"{helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'}", []deletePolicy{beforeHookCreation, hookSucceeded}},
		"unknown": {"{helm.sh/hook-delete-policy: never}", []deletePolicy{beforeHookCreation}},
	} {
		t.Run(name, func(t *testing.T) {
			o := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: "+tc.annotations+"}}")[0]
			if diff := cmp.Diff(tc.want, policiesOf(o.Unstructured)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	base := parseOptions([]string{"CreateNamespace=true", " Replace=true", "ServerSideApply=true", "Prune=false", "RespectIgnoreDifferences=true"})
	if diff := cmp.Diff(options{createNamespace: true, replace: true, noPrune: true, respectIgnored: true}, base, cmp.AllowUnexported(options{})); diff != "" {
		t.Error(diff)
	}
	over := base.with("Replace=false,SkipDryRunOnMissingResource=true,Validate=false,Force=true,Prune=true")
	want := options{createNamespace: true, force: true, skipDryRun: true, noValidate: true, respectIgnored: true}
	if diff := cmp.Diff(want, over, cmp.AllowUnexported(options{})); diff != "" {
		t.Error(diff)
	}
}

func TestWavesAndKinds(t *testing.T) {
	tasks := planTasks(parse(t, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: v1, kind: Service, metadata: {name: c}}
---
{apiVersion: v1, kind: Service, metadata: {name: d, annotations: {argocd.argoproj.io/sync-wave: "1"}}}`), options{}, "r")
	var got [][]int
	for _, w := range waves(tasks) {
		var sizes []int
		for _, k := range kinds(w) {
			sizes = append(sizes, len(k))
		}
		got = append(got, sizes)
	}
	if diff := cmp.Diff([][]int{{2, 1}, {1}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestStaleItems(t *testing.T) {
	item := func(kind, name string, wave int) inventoryItem {
		return inventoryItem{Version: "v1", Kind: kind, Name: name, Wave: wave}
	}
	old := []inventoryItem{item("Namespace", "n", 0), item("ConfigMap", "a", 0), item("ConfigMap", "b", 2), item("Job", "j", 0), item("ConfigMap", "kept", 0)}
	got := stale(old, []inventoryItem{item("ConfigMap", "kept", 1)})
	want := []inventoryItem{item("ConfigMap", "b", 2), item("Job", "j", 0), item("ConfigMap", "a", 0), item("Namespace", "n", 0)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order of deletion: %s", diff)
	}
	if n := len(merge([]inventoryItem{item("ConfigMap", "kept", 1)}, old)); n != 5 {
		t.Errorf("merged inventory has %d items, want 5", n)
	}
}

func TestInventoryName(t *testing.T) {
	for component, want := range map[string]string{"data-redis": "inventory-data-redis", "a.b": "inventory-a.b"} {
		if got := (owner{"", component}).inventoryName(); got != want {
			t.Errorf("%s: %s", component, got)
		}
	}
	if got := (owner{"shop/dev", "data-redis"}).inventoryName(); !strings.HasPrefix(got, "inventory-shop-dev-data-redis-") {
		t.Errorf("name %s", got)
	}
	names := map[string]owner{}
	for _, o := range []owner{{"", "A b"}, {"", "a_b"}, {"", "shop-dev-a"}, {"shop-dev", "a"}, {"shop/dev", "a"}, {"shop", "dev-a"}, {"", strings.Repeat("x", 400)}, {"shop", strings.Repeat("x", 400)}} {
		name := o.inventoryName()
		if other, ok := names[name]; ok || strings.ContainsAny(name, " A/") || len(name) > 253 {
			t.Errorf("name %s of %v, and of %v", name, o, other)
		}
		names[name] = o
	}
}

func TestReasons(t *testing.T) {
	secret := parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hunter2}, data: {token: Y2FuYXJ5}}")[0].Unstructured
	job := finding.Resource{Group: "batch", Kind: "Job", Namespace: "a", Name: "j"}
	gr := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, tc := range map[string]struct {
		resource finding.Resource
		object   *unstructured.Unstructured
		err      error
		want     string
	}{
		"namespace": {job, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), "namespace a does not exist"},
		"webhook": {job, nil, apierrors.NewInternalError(errors.New(`failed calling webhook "v.cert-manager.io": failed to call webhook: Post "https://x": dial tcp: refused`)),
			`webhook v.cert-manager.io cannot be called: Post "https://x": dial tcp: refused`},
		"unserved":  {job, nil, &unservedError{schema.GroupVersionKind{Group: "a.b", Version: "v1", Kind: "X"}}, "no matches for kind X in version a.b/v1: its CRD is not installed"},
		"forbidden": {job, nil, apierrors.NewForbidden(gr, "j", errors.New("unable to create new content in namespace a because it is being terminated")), "namespace a is being deleted"},
		"secret": {finding.Resource{Kind: "Secret", Name: "s"}, secret, errors.New(`cannot use "hunter2", "Y2FuYXJ5", canary or aHVudGVyMg==`),
			`cannot use "[redacted]", "[redacted]", [redacted] or [redacted]`},
		"value of a wrong type": {job, nil, errors.New("failed to create typed patch object (a/s; /v1, Kind=Secret): errors:\n  .data.p: expected string, got &value.valueUnstructured{Value:map[string]interface {}{\"inner\":\"hunter2\"}}\n  .data.q: expected string"),
			"failed to create typed patch object (a/s; /v1, Kind=Secret): errors: .data.p: expected string, got a map"},
		"text of a wrong type":   {job, nil, errors.New(".data: expected map, got &{12 hunter2}"), ".data: expected map, got text"},
		"list of a wrong type":   {job, nil, errors.New(".data: expected map, got &{[hunter2]}"), ".data: expected map, got a list"},
		"number of a wrong type": {job, nil, errors.New(".x: expected string, got &value.valueUnstructured{Value:12}"), ".x: expected string, got a number"},
		"policy": {finding.Resource{Kind: "Secret", Name: "s"}, secret, &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "no",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'p' denied request: hunter2 is weak"}}},
		}}, "ValidatingAdmissionPolicy 'p' denied request: [redacted] is weak"},
		"invalid secret": {finding.Resource{Kind: "Secret", Name: "s"}, secret, &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "other-value is bad",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "FieldValueInvalid", Field: "data[.dockerconfigjson]"}}},
		}}, "is invalid: data[.dockerconfigjson] (FieldValueInvalid)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := objectError(tc.resource, tc.object, tc.err)
			var object *executor.ObjectError
			if !errors.As(err, &object) {
				t.Fatalf("error = %v", err)
			}
			if object.Message != tc.want || object.Object != tc.resource {
				t.Errorf("got %q about %v, want %q", object.Message, object.Object, tc.want)
			}
		})
	}
}

func TestTransient(t *testing.T) {
	gr := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"etcd":      {apierrors.NewInternalError(errors.New("etcdserver: leader changed")), true},
		"webhook":   {apierrors.NewInternalError(errors.New(`failed calling webhook "x": refused`)), false},
		"overload":  {apierrors.NewTooManyRequests("slow down", 1), true},
		"conflict":  {apierrors.NewConflict(gr, "p", errors.New("changed")), true},
		"not found": {apierrors.NewNotFound(gr, "p"), false},
		"invalid":   {apierrors.NewBadRequest("no"), false},
		"none":      {nil, false},
	} {
		if got := Transient(tc.err); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSecretsAreSentAsData(t *testing.T) {
	o := parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: x}, data: {b: eQ==}}")[0]
	EncodeSecret(o.Unstructured)
	if diff := cmp.Diff(map[string]any{"a": "eA==", "b": "eQ=="}, o.Object["data"]); diff != "" {
		t.Error(diff)
	}
	if o.Object["stringData"] != nil {
		t.Error("stringData is still there")
	}
}

// A Secret that the API server would refuse must reach it.
func TestWrongSecretsAreSentAsTheyAre(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: {b: c}}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: 1}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: [a]}",
		"{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}, data: [c]}",
	} {
		o := parse(t, text)[0]
		want := o.DeepCopy()
		EncodeSecret(o.Unstructured)
		if diff := cmp.Diff(want.Object, o.Object); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
