package engine

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// plural names of the kinds that the tests of this file use.
func plurals() map[schema.GroupVersionKind]string {
	out := map[schema.GroupVersionKind]string{
		{Group: "databases.spotahome.com", Version: "v1", Kind: "RedisFailover"}: "redisfailovers",
	}
	for _, gvk := range supportKinds() {
		out[gvk] = map[string]string{
			"Pod": "pods", "PersistentVolumeClaim": "persistentvolumeclaims", "Event": "events", "ReplicaSet": "replicasets",
			"StatefulSet": "statefulsets", "Deployment": "deployments", "DaemonSet": "daemonsets", "Job": "jobs",
		}[gvk.Kind]
	}
	return out
}

// observing returns an observer that has seen the objects.
func observing(t *testing.T, text string) *observer {
	t.Helper()
	var objects []runtime.Object
	for _, o := range parse(t, text) {
		o.SetNamespace("a")
		objects = append(objects, o.Unstructured)
	}
	lists := map[schema.GroupVersionResource]string{}
	for gvk, plural := range plurals() {
		lists[gvk.GroupVersion().WithResource(plural)] = gvk.Kind + "List"
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
	ctx, cancel := context.WithCancel(t.Context())
	o := newObserver(ctx, client, clock.RealClock{}, func(*unstructured.Unstructured) {}, func(schema.GroupKind) {})
	t.Cleanup(func() { cancel(); o.running.Wait() })
	for gvk, plural := range plurals() {
		o.watch(gvk, mapping{gvr: gvk.GroupVersion().WithResource(plural), namespaced: true, watchable: true})
	}
	o.wait(ctx, time.Minute)
	return o
}

const (
	deployment = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d, generation: 1}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: rs, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d}]}}
---
`
	pod = `{apiVersion: v1, kind: Pod, metadata: {name: web-1-x, uid: p, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: rs}]}, `
)

func TestExplain(t *testing.T) {
	for name, tc := range map[string]struct{ objects, want string }{
		"the pod says it": {
			deployment + pod + `status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "db" not found'}}}]}}`,
			`Deployment web: 0 of 1 ready; pod web-1-x: CreateContainerConfigError: secret "db" not found`,
		},
		"an event of the pod says it, the newest": {
			deployment + pod + `status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}}
---
{apiVersion: v1, kind: Event, metadata: {name: e1}, lastTimestamp: "2025-01-01T00:00:00Z", involvedObject: {uid: p}, reason: Old, message: old}
---
{apiVersion: v1, kind: Event, metadata: {name: e2}, lastTimestamp: "2025-01-01T00:00:09Z", involvedObject: {uid: p}, reason: FailedMount, message: 'configmap "settings" not found'}`,
			`Deployment web: 0 of 1 ready; pod web-1-x: FailedMount: configmap "settings" not found`,
		},
		"a claim of the pod": {
			deployment + pod + `spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: unbound claims}]}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, uid: c}, status: {phase: Pending}}
---
{apiVersion: v1, kind: Event, metadata: {name: e}, involvedObject: {uid: c}, reason: ProvisioningFailed, message: 'storageclass "fast" not found'}`,
			`Deployment web: 0 of 1 ready; pod web-1-x: Unschedulable: unbound claims; PersistentVolumeClaim data is not bound: ProvisioningFailed: storageclass "fast" not found`,
		},
		"no pod at all": {
			deployment + `{apiVersion: v1, kind: Event, metadata: {name: e}, involvedObject: {uid: rs}, reason: FailedCreate, message: 'serviceaccount "web" not found'}`,
			`Deployment web: 0 of 1 ready; FailedCreate: serviceaccount "web" not found`,
		},
		"a ready pod says nothing": {
			deployment + pod + `status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			"Deployment web: 0 of 1 ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := observing(t, tc.objects)
			web := o.get(finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "web"}).object
			if web == nil {
				t.Fatal("the Deployment was not seen")
			}
			a := health.New()
			if diff := cmp.Diff(tc.want, o.explain(web, a.Assess(t.Context(), web))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestByWorkloads(t *testing.T) {
	redis := `
{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: r, uid: r}}
---
`
	owned := `ownerReferences: [{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, name: r, uid: r}]`
	set := func(ready string) string {
		return `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: rfr-r, generation: 1, ` + owned +
			`}, spec: {replicas: 3}, status: {observedGeneration: 1, readyReplicas: ` + ready + `}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: rfs-r, generation: 1, ` + owned +
			`}, spec: {replicas: 0}, status: {observedGeneration: 1}}`
	}
	for name, tc := range map[string]struct {
		objects string
		want    health.Status
	}{
		"none yet": {`{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: r, uid: r}}`,
			health.Status{Health: rollout.Progressing, Message: "waiting for its workloads"}},
		"starting": {redis + set("1"), health.Status{Health: rollout.Progressing, Message: "StatefulSet rfr-r: 1 of 3 ready"}},
		"ready":    {redis + set("3"), health.Status{Health: rollout.Healthy}},
	} {
		t.Run(name, func(t *testing.T) {
			o := observing(t, tc.objects)
			r := o.get(finding.Resource{Group: "databases.spotahome.com", Kind: "RedisFailover", Namespace: "a", Name: "r"}).object
			if r == nil {
				t.Fatal("the RedisFailover was not seen")
			}
			a := health.New()
			if diff := cmp.Diff(tc.want, o.byWorkloads(t.Context(), a.Assess, r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What an observer keeps holds no content of Secrets.
func TestSlim(t *testing.T) {
	for name, tc := range map[string]struct{ before, after string }{
		"secret": {"{apiVersion: v1, kind: Secret, metadata: {name: s, managedFields: [{}]}, data: {a: eA==}, stringData: {b: c}, type: Opaque}",
			"{apiVersion: v1, kind: Secret, metadata: {name: s}, type: Opaque}"},
		"crd": {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [{name: v1, schema: {a: b}}]}}",
			"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [{name: v1}]}}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := slim(parse(t, tc.before)[0].Unstructured)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parse(t, tc.after)[0].Unstructured, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Of two claims that are not bound, the one with a warning is what a pod waits for.
func TestClaimsWithWarningsTellMore(t *testing.T) {
	const claims = `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, uid: c1}, status: {phase: Pending}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: logs, uid: c2}, status: {phase: Pending}}
`
	const warning = `---
{apiVersion: v1, kind: Event, metadata: {name: e}, type: Warning, reason: ProvisioningFailed, message: none, involvedObject: {uid: c2, kind: PersistentVolumeClaim, name: logs, namespace: a}}`
	for name, tc := range map[string]struct {
		text string
		want bool
	}{"none has a warning": {claims, false}, "one has": {claims + warning, true}} {
		t.Run(name, func(t *testing.T) {
			o := observing(t, tc.text)
			look := func(name string) *verdict {
				r := finding.Resource{Kind: "PersistentVolumeClaim", Namespace: "a", Name: name}
				return &verdict{task: &task{resource: r}, object: o.get(r).object, status: health.Status{Health: rollout.Progressing}}
			}
			if got := o.tellsMore(look("logs"), look("data")); got != tc.want {
				t.Errorf("%t", got)
			}
			if o.tellsMore(look("data"), look("logs")) {
				t.Error("the one without a warning tells more")
			}
		})
	}
}
