package status

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

const (
	wanted = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	older  = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	newer  = "ffffffffffffffffffffffffffffffffffffffff"
)

// object reads an Application of testdata as the API server has it, with a patch
// merged over it. In the patch null takes a field away.
func object(t testing.TB, file, patch string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var base, over map[string]any
	for text, into := range map[string]*map[string]any{string(text): &base, replacer.Replace(patch): &over} {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		var obj unstructured.Unstructured
		if text == "" || string(data) == "null" {
			continue
		}
		// The numbers of a real object are int64 and float64.
		if err := obj.UnmarshalJSON(withKind(data)); err != nil {
			t.Fatal(err)
		}
		*into = obj.Object
	}
	return &unstructured.Unstructured{Object: merge(base, over).(map[string]any)}
}

var replacer = strings.NewReplacer("WANTED", wanted, "OLDER", older, "NEWER", newer)

func withKind(data []byte) []byte {
	if strings.Contains(string(data), `"kind":"Application`) {
		return data
	}
	return []byte(`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application",` + strings.TrimPrefix(string(data), "{"))
}

// merge is a JSON merge patch.
func merge(base, over any) any {
	b, isMap := base.(map[string]any)
	o, patches := over.(map[string]any)
	if !patches {
		return over
	}
	if !isMap {
		b = map[string]any{}
	}
	out := maps.Clone(b)
	for k, v := range o {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = merge(out[k], v)
		}
	}
	return out
}

func parsedObject(t testing.TB, file, patch string) *Application {
	t.Helper()
	a, err := Parse(object(t, file, patch))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestJudge(t *testing.T) {
	self := finding.Resource{Group: Group, Kind: "Application", Namespace: "argocd", Name: "shop"}
	deployment := finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "shop"}
	job := finding.Resource{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}
	const behind = `status: {sync: {revision: NEWER, status: OutOfSync}}`
	for name, tc := range map[string]struct {
		file, patch string
		mode        Mode
		recompared  bool
		want        Want
		health      rollout.Health
		revision    string
		code        Code
		object      finding.Resource
		message     string // part of it
		final       bool
	}{
		"healthy at the revision": {health: rollout.Healthy, revision: wanted},
		"abbreviated revision":    {want: Want{Revision: "aaaaaaaa"}, health: rollout.Healthy, revision: "aaaaaaaa"},
		"too short a revision":    {want: Want{Revision: "aaaa"}, health: rollout.Healthy, revision: wanted, code: OtherRevision, object: self, message: "is at revision aaaaaaa"},

		"stale revision": {patch: `status: {sync: {revision: OLDER}, operationState: {syncResult: {revision: OLDER}}}`,
			health: rollout.Healthy, revision: older, code: OtherRevision, object: self, message: "is at revision bbbbbbb, not at aaaaaaa"},
		"healthy and out of sync": {patch: `status: {sync: {status: OutOfSync}, resources: [{group: apps, kind: Deployment, namespace: shop, name: shop, status: OutOfSync}]}`,
			health: rollout.Progressing, code: NotSynced, object: self, message: "is out of sync: Deployment shop/shop"},
		"out of sync without automated sync": {patch: `{spec: {syncPolicy: {automated: null}}, status: {sync: {status: OutOfSync}}}`,
			health: rollout.Progressing, code: AutoSyncOff, object: self, message: "automated sync is off"},
		"automated sync switched off": {patch: `{spec: {syncPolicy: {automated: {enabled: false}}}, status: {sync: {status: OutOfSync}}}`,
			health: rollout.Progressing, code: AutoSyncOff, object: self, message: "automated sync is off"},
		"held": {patch: `{metadata: {annotations: {ladder.rollout-ladder.dev/held-automated-sync: "{}"}}, spec: {syncPolicy: {automated: null}}, status: {sync: {status: OutOfSync}}}`,
			health: rollout.Progressing, code: AutoSyncHeld, object: self, message: "a rollout holds its automated sync"},

		"spec-only change of the path": {patch: `spec: {source: {path: other}}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "the spec was changed"},
		"spec-only change of a value": {patch: `spec: {source: {helm: {valuesObject: {replicas: 0}}}}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "the spec was changed"},
		"spec-only change of the destination": {patch: `spec: {destination: {namespace: other}}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "the spec was changed"},
		"spec-only change of ignored differences": {patch: `spec: {ignoreDifferences: [{kind: Secret, jsonPointers: [/data]}]}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "the spec was changed"},
		"zero values that were written": {patch: `spec: {source: {directory: {recurse: false}, helm: {releaseName: "", parameters: []}}}`,
			health: rollout.Healthy, revision: wanted},

		"no status":      {patch: `status: null`, health: rollout.Unknown, code: NotCompared, object: self, message: "has not compared"},
		"no health":      {patch: `status: {health: null}`, health: rollout.Unknown, revision: wanted, code: ObjectHealth, object: self, message: "its health is Unknown"},
		"foreign health": {patch: `status: {health: {status: Splendid}}`, health: rollout.Unknown, revision: wanted, code: ObjectHealth, object: self, message: "Splendid"},
		"never operated": {patch: `status: {operationState: null}`, health: rollout.Healthy, revision: wanted},
		"no revision":    {patch: `status: {sync: {revision: ""}}`, health: rollout.Healthy, code: OtherRevision, object: self, message: "an unknown revision"},
		"unknown sync":   {patch: `status: {sync: {status: Unknown}}`, health: rollout.Progressing, code: NotCompared, object: self, message: "sync status Unknown"},
		"being deleted":  {patch: `metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [x/y]}`, health: rollout.Progressing, code: BeingDeleted, object: self, message: "held by x/y"},
		"progressing":    {patch: `status: {health: {status: Progressing}}`, health: rollout.Progressing, revision: wanted, code: ObjectHealth, object: self, message: "its health is Progressing"},
		"suspended":      {patch: `status: {health: {status: Suspended}}`, health: rollout.Suspended, revision: wanted, code: ObjectHealth, object: self, message: "Suspended"},
		"degraded object": {patch: `status: {health: {status: Degraded}, resources: [{kind: Service, namespace: shop, name: shop, health: {status: Progressing}}, {group: apps, kind: Deployment, namespace: shop, name: shop, health: {status: Degraded, message: exceeded its deadline}}]}`,
			health: rollout.Degraded, revision: wanted, code: ObjectHealth, object: deployment, message: "Deployment shop/shop: exceeded its deadline"},

		"asked for": {patch: `operation: {initiatedBy: {username: alice}, sync: {revision: WANTED}}`,
			health: rollout.Progressing, code: OperationWaits, object: self, message: "a sync of alice waits"},
		"asked for by the automated sync": {patch: `operation: {initiatedBy: {automated: true}, sync: {}}`,
			health: rollout.Progressing, code: OperationWaits, object: self, message: "a sync of automated sync waits"},
		"running": {patch: `{operation: {sync: {}}, status: {operationState: {phase: Running, finishedAt: null, message: "waiting for healthy state of apps/Deployment/shop"}}}`,
			health: rollout.Progressing, code: OperationRuns, object: self, message: "waiting for healthy state of apps/Deployment/shop"},
		"hook waiting": {patch: `{operation: {sync: {}}, status: {operationState: {phase: Running, finishedAt: null, message: "waiting for completion of hook batch/Job/migrate", syncResult: {resources: [{group: batch, kind: Job, namespace: shop, name: migrate, hookType: PreSync, hookPhase: Running, syncPhase: PreSync}]}}}}`,
			health: rollout.Progressing, code: HookWaits, object: job, message: "hook Job shop/migrate of phase PreSync runs"},
		"terminating": {patch: `{operation: {sync: {}}, status: {operationState: {phase: Terminating, finishedAt: null}}}`,
			health: rollout.Progressing, code: OperationRuns, object: self, message: "is being terminated"},
		"retry in progress": {patch: `{operation: {sync: {}}, status: {operationState: {phase: Running, retryCount: 1, message: "one or more objects failed to apply. Retrying attempt #1 at 3:04AM.", syncResult: {resources: [{group: apps, kind: Deployment, namespace: shop, name: shop, status: SyncFailed, message: refused}]}}}}`,
			health: rollout.Progressing, code: RetryWaits, object: deployment, message: "Retrying attempt #1"},
		"sync window": {patch: `{operation: {sync: {}}, status: {operationState: {phase: Running, finishedAt: null, message: "Sync operation blocked by sync window"}}}`,
			health: rollout.Progressing, code: WindowClosed, object: self, message: "waits for a sync window of project default"},
		"failed": {patch: `status: {operationState: {phase: Failed, message: one or more objects failed to apply, syncResult: {resources: [{group: apps, kind: Deployment, namespace: shop, name: shop, status: SyncFailed, message: "spec.replicas: Invalid value"}]}}}`,
			health: rollout.Degraded, revision: wanted, code: OperationFailed, object: deployment, message: "spec.replicas: Invalid value", final: true},
		"failed, and a driver may repeat it": {mode: Drive, patch: `status: {operationState: {phase: Error, message: rpc error}}`,
			health: rollout.Degraded, revision: wanted, code: OperationFailed, object: self, message: "rpc error"},
		"failed hook": {patch: `status: {operationState: {phase: Failed, syncResult: {resources: [{group: batch, kind: Job, namespace: shop, name: migrate, hookType: PostSync, hookPhase: Failed, message: Job has reached the specified backoff limit}]}}}`,
			health: rollout.Degraded, revision: wanted, code: OperationFailed, object: job, message: "backoff limit", final: true},
		"failed at another revision": {patch: `status: {sync: {revision: OLDER, status: OutOfSync}, operationState: {phase: Failed, message: refused, syncResult: {revision: OLDER}}}`,
			health: rollout.Progressing, code: NotSynced, object: self, message: "is out of sync"},
		"not compared since the sync": {patch: `status: {reconciledAt: "2026-01-01T11:59:59Z"}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "has not compared since the sync ended"},

		"project forbids": {patch: `status: {conditions: [{type: InvalidSpecError, message: "application destination is not permitted in project 'shop'", lastTransitionTime: "2026-01-01T12:00:00Z"}]}`,
			health: rollout.Unknown, code: InvalidSpec, object: self, message: "not permitted in project"},
		"repository unreachable, without the credentials of its address": {patch: `status: {conditions: [{type: ComparisonError, message: "Failed to load target state: dial https://bob:hunter2@git.example.com: connection refused"}]}`,
			health: rollout.Unknown, code: CannotCompare, object: self, message: "https://***@git.example.com"},
		"a warning is no error": {patch: `status: {conditions: [{type: OrphanedResourceWarning, message: some}]}`, health: rollout.Healthy, revision: wanted},
		"only deletions are left": {patch: `status: {sync: {status: OutOfSync}, resources: [{kind: ConfigMap, namespace: shop, name: old, status: OutOfSync, requiresPruning: true}]}`,
			health: rollout.Healthy, revision: wanted},
		"deletions and a difference are left": {patch: `status: {sync: {status: OutOfSync}, resources: [{kind: ConfigMap, namespace: shop, name: old, status: OutOfSync, requiresPruning: true}, {kind: ConfigMap, namespace: shop, name: new, status: OutOfSync}]}`,
			health: rollout.Progressing, code: NotSynced, object: self, message: "ConfigMap shop/old, ConfigMap shop/new"},
		"only deletions are left after a partial sync": {patch: `status: {operationState: {operation: {sync: {resources: [{kind: ConfigMap, name: a}]}}}, sync: {status: OutOfSync}, resources: [{kind: ConfigMap, namespace: shop, name: old, status: OutOfSync, requiresPruning: true}]}`,
			health: rollout.Progressing, code: NotSynced, object: self, message: "ConfigMap shop/old"},

		"branch has moved on, followed": {patch: behind, health: rollout.Progressing, code: NotSynced, object: self, message: "is out of sync"},
		"branch has moved on, driven":   {mode: Drive, patch: behind, health: rollout.Healthy, revision: wanted},
		"branch has moved on, compared in the second of the end": {mode: Drive, patch: `status: {reconciledAt: "2026-01-01T12:00:00Z", sync: {revision: NEWER, status: OutOfSync}}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "has not compared since"},
		"branch has moved on, compared again": {mode: Drive, recompared: true, patch: `status: {reconciledAt: "2026-01-01T12:00:00Z", sync: {revision: NEWER, status: OutOfSync}}`,
			health: rollout.Healthy, revision: wanted},
		"branch has moved on, and the sync was partial": {mode: Drive, patch: `status: {sync: {revision: NEWER, status: OutOfSync}, operationState: {operation: {sync: {resources: [{kind: ConfigMap, name: a}]}}}}`,
			health: rollout.Progressing, code: NotSynced, object: self, message: "is out of sync"},
		"branch has moved on, and the sync was of another spec": {mode: Drive, patch: `status: {sync: {revision: NEWER, status: OutOfSync}, operationState: {syncResult: {source: {path: before}}}}`,
			health: rollout.Progressing, code: NotSynced, object: self, message: "is out of sync"},
		"an object of the newer revision is missing": {mode: Drive, patch: `status: {sync: {revision: NEWER, status: OutOfSync}, health: {status: Missing}, resources: [{group: apps, kind: Deployment, namespace: shop, name: shop, health: {status: Healthy}}, {group: apps, kind: Deployment, namespace: shop, name: later, health: {status: Missing}}]}`,
			health: rollout.Healthy, revision: wanted},
		"an object of this revision is missing": {mode: Drive, patch: `status: {sync: {revision: NEWER, status: OutOfSync}, health: {status: Missing}, resources: [{group: apps, kind: Deployment, namespace: shop, name: shop, health: {status: Missing}}, {group: apps, kind: Deployment, namespace: shop, name: later, health: {status: Missing}}]}`,
			health: rollout.Missing, revision: wanted, code: ObjectHealth, object: deployment, message: "Deployment shop/shop: Missing"},
		"something of the newer revision hides the health": {mode: Drive, patch: `status: {sync: {revision: NEWER, status: OutOfSync}, health: {status: Missing}}`,
			health: rollout.Missing, revision: wanted, code: Hidden, object: self, message: "objects of a newer revision"},
		"the newer revision cannot be rendered": {mode: Drive, patch: `status: {sync: {revision: NEWER, status: Unknown}, conditions: [{type: ComparisonError, message: "Failed to load target state: no"}]}`,
			health: rollout.Unknown, revision: wanted, code: Hidden, object: self, message: "Failed to load target state"},

		"several sources": {file: "several.yaml", health: rollout.Healthy, revision: wanted},
		"several sources, one behind": {file: "several.yaml", patch: `status: {sync: {revisions: [4.5.6, OLDER]}}`,
			health: rollout.Healthy, revision: older, code: OtherRevision, object: self, message: "is at revision bbbbbbb"},
		"several sources, revisions missing": {file: "several.yaml", patch: `status: {sync: {revisions: [4.5.6]}}`,
			health: rollout.Healthy, code: OtherRevision, object: self, message: "an unknown revision"},
		"several sources, another chart version": {file: "several.yaml", patch: `spec: {sources: [{repoURL: https://charts.example.com, chart: shop, targetRevision: 4.5.7, helm: {valueFiles: [$values/shop.yaml]}}, {repoURL: https://git.example.com/platform.git, targetRevision: main, ref: values}]}`,
			health: rollout.Progressing, code: NotCompared, object: self, message: "the spec was changed"},
		"sources of another repository have versions of their own": {file: "several.yaml", want: Want{Revision: wanted, Repositories: []string{"git@git.example.com:other.git"}},
			patch: `status: {sync: {revisions: [4.5.6, OLDER]}, operationState: {syncResult: {revisions: [4.5.6, OLDER]}}}`, health: rollout.Healthy, revision: wanted},
		"the repository under another address": {file: "several.yaml", want: Want{Revision: wanted, Repositories: []string{"https://bob@GIT.example.com/platform/"}},
			patch: `status: {sync: {revisions: [4.5.6, OLDER]}}`, health: rollout.Healthy, revision: older, code: OtherRevision, object: self, message: "is at revision bbbbbbb"},
		"several sources, branch has moved on": {file: "several.yaml", mode: Drive, patch: `status: {sync: {status: OutOfSync, revisions: [4.5.6, NEWER]}}`, health: rollout.Healthy, revision: wanted},
		"became several sources":               {patch: `spec: {sources: [{repoURL: https://git.example.com/platform.git, path: shop, targetRevision: main}]}`, health: rollout.Progressing, code: NotCompared, object: self, message: "the spec was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			file := tc.file
			if file == "" {
				file = "single.yaml"
			}
			want := tc.want
			if want.Revision == "" {
				want.Revision = wanted
			}
			j := Judge(parsedObject(t, file, tc.patch), want, tc.mode, tc.recompared)
			if j.Health != tc.health || j.Revision != tc.revision || j.Code != tc.code || j.Final != tc.final {
				t.Errorf("got %s at %q, code %q, final %v (%s)", j.Health, j.Revision, j.Code, j.Final, j.Message)
			}
			if diff := cmp.Diff(tc.object, j.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			if !strings.Contains(j.Message, tc.message) || tc.message == "" && j.Message != "" {
				t.Errorf("message %q lacks %q", j.Message, tc.message)
			}
		})
	}
}

func TestJudgeNothing(t *testing.T) {
	if j := Judge(nil, Want{Revision: wanted}, Drive, false); j.Health != rollout.Missing || j.Code != NotThere {
		t.Errorf("%+v", j)
	}
}

// An Application counts as Healthy at the revision only if everything that says
// so is there; each of these alone takes it away.
func TestNeverHealthyElsewhere(t *testing.T) {
	revisions := []string{wanted, older, newer, "", "main"}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(label string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label) }
		draw := func(label string) string { return rapid.SampledFrom(revisions).Draw(t, label) }
		obj := object(nilTB{}, "single.yaml", "")
		set := func(value any, fields ...string) {
			if err := unstructured.SetNestedField(obj.Object, value, fields...); err != nil {
				t.Fatal(err)
			}
		}
		synced, applied := draw("compared revision"), draw("synced revision")
		status, health, phase := pick("sync", Synced, OutOfSync, "Unknown", ""), pick("health", "Healthy", "Progressing", "Degraded", "Missing", "Suspended", ""), pick("phase", Succeeded, Failed, Error, Running, Terminating)
		compared, path, reconciled := pick("compared path", "shop", "before"), pick("synced path", "shop", "before"), pick("reconciled", "2026-01-01T11:59:59Z", "2026-01-01T12:00:00Z", "2026-01-01T12:00:01Z")
		set(synced, "status", "sync", "revision")
		set(applied, "status", "operationState", "syncResult", "revision")
		set(status, "status", "sync", "status")
		set(health, "status", "health", "status")
		set(phase, "status", "operationState", "phase")
		set(compared, "status", "sync", "comparedTo", "source", "path")
		set(path, "status", "operationState", "syncResult", "source", "path")
		set(reconciled, "status", "reconciledAt")
		asked := rapid.Bool().Draw(t, "operation")
		if asked {
			set(map[string]any{"sync": map[string]any{}}, "operation")
		}
		condition := pick("condition", "", "InvalidSpecError", "ComparisonError", "OrphanedResourceWarning")
		if condition != "" {
			set([]any{map[string]any{"type": condition, "message": "no"}}, "status", "conditions")
		}
		mode := rapid.SampledFrom([]Mode{Follow, Drive}).Draw(t, "mode")
		a, err := Parse(obj)
		if err != nil {
			t.Fatal(err)
		}
		j := Judge(a, Want{Revision: wanted}, mode, rapid.Bool().Draw(t, "recompared"))
		healthy := j.Health == rollout.Healthy && j.Revision == wanted
		if !healthy {
			if j.Code == None {
				t.Fatalf("nothing says why: %+v", j)
			}
			return
		}
		byComparison := status == Synced && synced == wanted
		bySync := mode == Drive && applied == wanted && path == "shop" && synced != wanted
		switch {
		case j.Code != None:
			t.Fatalf("Healthy, and %s", j.Code)
		case health != "Healthy", phase != Succeeded, asked, compared != "shop", reconciled < "2026-01-01T12:00:00Z":
			t.Fatalf("Healthy with health %q, phase %q, operation %v, path %q, compared at %s", health, phase, asked, compared, reconciled)
		case condition == "InvalidSpecError" || condition == "ComparisonError":
			t.Fatalf("Healthy with %s", condition)
		case !byComparison && !bySync:
			t.Fatalf("Healthy at %q, synced to %q", synced, applied)
		}
	})
}

// nilTB lets a helper of tests be used where rapid runs.
type nilTB struct{ testing.TB }

// Helper implements testing.TB.
func (nilTB) Helper() {}

func TestSameRepository(t *testing.T) {
	for _, pair := range [][2]string{
		{"https://git.example.com/a/b.git", "https://git.example.com/a/b"},
		{"git@git.example.com:a/b.git", "ssh://git@git.example.com/a/b"},
		{"https://bob:secret@git.example.com/a", "https://git.example.com/a/"},
	} {
		if !SameRepository(pair[0], pair[1]) {
			t.Errorf("%s is not %s: %s, %s", pair[0], pair[1], normalURL(pair[0]), normalURL(pair[1]))
		}
	}
	if SameRepository("https://git.example.com/a", "https://git.example.com/b") {
		t.Error("different repositories are the same")
	}
}
