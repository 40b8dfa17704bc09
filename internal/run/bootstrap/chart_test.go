package bootstrap_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// chart is an archive of a chart that installs as Argo CD's own does: CRDs in a
// folder, a Job before everything, one Deployment.
func chart(t *testing.T, hookImage string) []byte {
	t.Helper()
	files := map[string]string{
		"argo-cd/Chart.yaml":  "apiVersion: v2\nname: argo-cd\nversion: 1.0.0\n",
		"argo-cd/values.yaml": "replicas: 1\n",
		"argo-cd/crds/applications.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  names: {kind: Application, listKind: ApplicationList, plural: applications, singular: application}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`,
		"argo-cd/crds/appprojects.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: appprojects.argoproj.io}
spec:
  group: argoproj.io
  names: {kind: AppProject, listKind: AppProjectList, plural: appprojects, singular: appproject}
  scope: Namespaced
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`,
		"argo-cd/templates/hook.yaml": `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-redis-secret-init
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: ` + hookImage + `}]
`,
		"argo-cd/templates/server.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-server, namespace: {{ .Release.Namespace }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: server}}
  template:
    metadata: {labels: {app: server}}
    spec:
      containers: [{name: main, image: server}]
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {type: LoadBalancer, selector: {app: nobody}, ports: [{port: 80}]}
`,
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, text := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestChart installs from the archive of a chart, and again after its hook has
// changed.
func TestChart(t *testing.T) {
	w := newWorld(t)
	archive := chart(t, "first")
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { _, _ = answer.Write(archive) }))
	defer server.Close()
	digestOf := func() string {
		sum := sha256.Sum256(archive)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	before := digestOf()
	w.edit("bootstrap/dev.yaml", "manifest: {path: bootstrap/argocd/install.yaml}", "chart: {url: '"+server.URL+"/argo-cd-1.0.0.tgz', digest: '"+before+"', values: {replicas: 2}}")
	w.edit("bootstrap/dev.yaml", "wait: {grace: 2s}", "wait: {skip: true}")
	cache := t.TempDir()
	run := func(offline bool) report.Bootstrap {
		return w.run(t.Context(), func(o *bootstrap.Options) { o.Load = analysis.Options{CacheDir: cache, Offline: offline} })
	}
	b := run(false)
	if b.Result != report.BootstrapSucceeded {
		t.Fatalf("result %s: %+v", b.Result, b.Stages)
	}
	if first := stage(b, "argocd").Objects[0]; first != (report.BootstrapObject{Object: "Job argocd/argocd-redis-secret-init", Action: "created"}) {
		t.Errorf("first comes %+v", first)
	}
	replicas, _, _ := unstructured.NestedInt64(w.get(apps("deployments"), "argocd", "argocd-server").Object, "status", "availableReplicas")
	if replicas != 2 {
		t.Errorf("%d replicas are available", replicas)
	}
	jobs := core("jobs")
	jobs.Group = "batch"
	first := w.get(jobs, "argocd", "argocd-redis-secret-init").GetUID()

	again := run(true)
	if diff := cmp.Diff("unchanged", states(again)["argocd"]); diff != "" || again.Result != report.BootstrapSucceeded {
		t.Errorf("result %s: %s: %s", again.Result, diff, stage(again, "argocd").Message)
	}
	if now := w.get(jobs, "argocd", "argocd-redis-secret-init").GetUID(); now != first {
		t.Error("the hook has run again without need")
	}

	archive = chart(t, "second")
	w.edit("bootstrap/dev.yaml", before, digestOf())
	changed := run(false)
	if changed.Result != report.BootstrapSucceeded {
		t.Fatalf("result %s: %+v", changed.Result, changed.Stages)
	}
	if now := w.get(jobs, "argocd", "argocd-redis-secret-init").GetUID(); now == first {
		t.Error("the hook that has changed has not run again")
	}
}
