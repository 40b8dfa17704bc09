package infer

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// large is a platform of n components in n/20 namespaces. Every twentieth makes
// the namespace, the store and the class of its neighbours; the others read
// Secrets of two neighbours, name a host, and mount a claim.
func large(n int) Input {
	in := Input{Objects: map[string][]manifest.Object{}}
	object := func(o map[string]any, file string, line int, ns string) manifest.Object {
		return manifest.Object{Unstructured: &unstructured.Unstructured{Object: o}, Origin: manifest.Origin{File: file, Line: line}, Target: ns}
	}
	meta := func(name string) map[string]any { return map[string]any{"name": name} }
	for i := range n {
		c := model.Component{Name: fmt.Sprintf("c%05d", i), Namespace: fmt.Sprintf("ns%04d", i/20), Phase: model.Phase(i % 20 * 40), Enabled: true}
		file, ns := c.Name+"/all.yaml", c.Namespace
		var all []manifest.Object
		if i%20 == 0 {
			all = append(all,
				object(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": meta(ns)}, file, 1, ""),
				object(map[string]any{"apiVersion": "external-secrets.io/v1", "kind": "SecretStore", "metadata": meta("store")}, file, 5, ns),
				object(map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta("data"), "spec": map[string]any{"storageClassName": "fast"}}, file, 9, ns))
		}
		if i == 0 {
			all = append(all,
				object(map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta("fast"), "volumeBindingMode": "WaitForFirstConsumer"}, file, 20, ""),
				object(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta("hook")}, file, 30, ns),
				object(map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": meta("hooks"), "webhooks": []any{
					map[string]any{"name": "all.example.com", "clientConfig": map[string]any{"service": map[string]any{"name": "hook", "namespace": ns}},
						"rules": []any{map[string]any{"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "resources": []any{"*"}, "operations": []any{"CREATE"}}}}}}, file, 40, ""))
		}
		reads := func(j int) any {
			return map[string]any{"secretRef": map[string]any{"name": fmt.Sprintf("s%05d", j)}}
		}
		all = append(all,
			object(map[string]any{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": meta(fmt.Sprintf("s%05d", i)),
				"spec": map[string]any{"secretStoreRef": map[string]any{"name": "store"}}}, file, 50, ns),
			object(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta("svc-" + c.Name)}, file, 60, ns),
			object(map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta(c.Name)}, file, 65, ns),
			object(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(c.Name), "data": map[string]any{"url": "http://svc-c00000.ns0000.svc:80"}}, file, 70, ns),
			object(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(c.Name), "spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"serviceAccountName": c.Name,
				"volumes":            []any{map[string]any{"persistentVolumeClaim": map[string]any{"claimName": "data"}}},
				"containers":         []any{map[string]any{"image": "example.com/x:1", "envFrom": []any{reads(max(i/20*20, i-1)), reads(max(i/20*20, i-2))}}}}}}}, file, 80, ns))
		in.Components = append(in.Components, c)
		in.Objects[c.Name] = all
	}
	return in
}

func BenchmarkInfer(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		in := large(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var r Result
			for b.Loop() {
				r = Infer(in)
			}
			b.ReportMetric(float64(len(r.Dependencies)), "dependencies")
			b.ReportMetric(float64(len(r.Edges)), "edges")
		})
	}
}

// TestGrowth checks that ten times the components take about ten times the
// allocations, and that what inference keeps fits. Allocations are the same in
// each run on each machine; how the time grows is measured by "make bench".
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	measure := func(n int) (uint64, int64, Result) {
		in := large(n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		r := Infer(in)
		runtime.GC()
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, int64(after.HeapAlloc) - int64(before.HeapAlloc), r
	}
	small, _, _ := measure(200)
	big, kept, r := measure(2000)
	t.Logf("200 components take %d allocations, 2000 take %d and keep %d MiB", small, big, kept>>20)
	if big > 12*small {
		t.Errorf("200 components take %d allocations, 2000 take %d", small, big)
	}
	if kept > 20<<20 {
		t.Errorf("%d dependencies keep %d MiB", len(r.Dependencies), kept>>20)
	}
	runtime.KeepAlive(r)
}
