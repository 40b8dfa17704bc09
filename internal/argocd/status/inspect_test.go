package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

const (
	hookRuns = `{spec: {destination: {server: "https://kubernetes.default.svc", namespace: shop}}, operation: {sync: {}}, status: {operationState: {phase: Running, finishedAt: null, syncResult: {resources: [
  {group: batch, kind: Job, namespace: shop, name: migrate, hookType: PreSync, hookPhase: Running, syncPhase: PreSync, message: job.batch/migrate created}]}}}}`
	failedPod = `{apiVersion: v1, kind: Pod, metadata: {name: migrate-a, namespace: shop, creationTimestamp: "2026-01-01T00:00:00Z", labels: {batch.kubernetes.io/job-name: migrate}},
  status: {phase: Failed, containerStatuses: [{name: main, state: {terminated: {exitCode: 1, reason: Error}}}]}}`
	newestPod = `{apiVersion: v1, kind: Pod, metadata: {name: migrate-b, namespace: shop, creationTimestamp: "2026-01-01T00:01:00Z", labels: {batch.kubernetes.io/job-name: migrate}},
  status: {phase: Pending, containerStatuses: [{name: main, state: {waiting: {reason: CreateContainerConfigError, message: secret "web-auth" not found}}}]}}`
	otherPod = `{apiVersion: v1, kind: Pod, metadata: {name: web-a, namespace: shop, creationTimestamp: "2026-01-01T00:02:00Z", labels: {app: web}},
  status: {phase: Pending, containerStatuses: [{name: main, state: {waiting: {reason: ImagePullBackOff}}}]}}`
)

// TestWatcherExplainsHooks: a hook that does not end is explained by its newest pod; what runs
// beside it and what it was before say nothing.
func TestWatcherExplainsHooks(t *testing.T) {
	var pods []runtime.Object
	for _, text := range []string{failedPod, newestPod, otherPod} {
		var pod map[string]any
		if err := yaml.Unmarshal([]byte(text), &pod); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, &unstructured.Unstructured{Object: pod})
	}
	lists := map[schema.GroupVersionResource]string{{Version: "v1", Resource: "pods"}: "PodList"}
	inspector := &Inspector{client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, pods...)}
	c := newCluster(t, named(t, "a", hookRuns))
	w, err := New(Config{Client: c.client, Want: Want{Revision: wanted}, Applications: map[string]Ref{"a": {"argocd", "a"}}, Inspector: inspector})
	if err != nil {
		t.Fatal(err)
	}
	o := start(t, w)
	const want = `hook Job shop/migrate of phase PreSync runs: job.batch/migrate created; pod migrate-b: CreateContainerConfigError: secret "web-auth" not found`
	seen := o.message(t, "pod ")
	if seen.Message != want || seen.Health != rollout.Progressing || seen.Object.Kind != "Job" {
		t.Errorf("told %+v", seen)
	}

	// A hook without pods has nothing more to tell.
	without := seen.Object
	without.Name = "other"
	if found, err := inspector.pods(t.Context(), without); err != nil || found.words != "" {
		t.Errorf("found %+v, %v", found, err)
	}
}

// message waits for a message that has a text in it.
func (o *told) message(t *testing.T, text string) executor.Observation {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		o.mu.Lock()
		for _, seen := range o.all {
			if strings.Contains(seen.Message, text) {
				o.mu.Unlock()
				return seen
			}
		}
		last := o.all
		o.mu.Unlock()
		select {
		case <-o.more:
		case <-deadline:
			t.Fatalf("nothing tells of %s: %+v", text, last)
		}
	}
}
