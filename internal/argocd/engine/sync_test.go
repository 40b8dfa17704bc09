package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/executor"
)

func mustSync(t *testing.T, e *Engine, name string) {
	t.Helper()
	if err := e.Sync(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// The operation is the Application's own, pinned, and its retries stay pinned.
func TestOperation(t *testing.T) {
	m := newMemory(t, idle("shop", `automated: {prune: true}, syncOptions: [CreateNamespace=true], retry: {limit: 3, refresh: true, backoff: {duration: 5s}}`))
	m.controller(succeed)
	mustSync(t, m.engine("run-1", "shop"), "shop")
	var asked map[string]any
	for _, p := range m.patches {
		if operation, ok := p["operation"].(map[string]any); ok {
			asked = operation
			if status, _ := p["status"].(map[string]any); status == nil || status["operationState"] != nil {
				t.Error("the state of the operation before is not cleared")
			}
		}
	}
	if m.live("shop").SyncPolicy.Automated != nil {
		t.Error("automated sync was not held")
	}
	token := status.Info{}
	for _, i := range asked["info"].([]any) {
		if info := i.(map[string]any); info["name"] == InfoToken {
			token.Value = info["value"].(string)
		}
	}
	want := map[string]any{
		"sync":        map[string]any{"revision": commit, "prune": true, "syncOptions": []any{"CreateNamespace=true"}},
		"initiatedBy": map[string]any{"username": "ladder"},
		"retry":       map[string]any{"limit": float64(3), "backoff": map[string]any{"duration": "5s"}},
		"info": []any{map[string]any{"name": "Reason", "value": "rollout of " + commit}, map[string]any{"name": InfoRun, "value": "run-1"},
			map[string]any{"name": InfoToken, "value": token.Value}},
	}
	if diff := cmp.Diff(want, asked); diff != "" || token.Value == "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOperationOfSeveralSources(t *testing.T) {
	a := &status.Application{Spec: status.Spec{Sources: []map[string]any{
		{"repoURL": "https://charts.example.com", "chart": "shop", "targetRevision": "1.2.3"},
		{"repoURL": "https://git.example.com/platform.git", "targetRevision": "main", "ref": "values"},
		{"repoURL": "https://git.example.com/other.git", "targetRevision": "v1", "path": "x"},
	}}}
	e, err := New(Config{Client: newMemory(t).client, Revision: commit, Repositories: []string{"https://git.example.com/platform"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	sync := e.operation(a, "token")["sync"]
	if diff := cmp.Diff(map[string]any{"prune": false, "revisions": []string{"1.2.3", commit, "v1"}}, sync); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What somebody else writes between the look and the patch is a conflict, and an
// operation among it is waited for.
func TestNeverOverwritesAnOperation(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	e := m.engine("run-1", "shop")
	var came atomic.Bool
	m.before = func(patch map[string]any) error {
		if patch["operation"] != nil && came.CompareAndSwap(false, true) {
			m.set("shop", `operation: {initiatedBy: {username: alice}, sync: {}}`)
		}
		return nil
	}
	synced := make(chan error, 1)
	go func() { synced <- e.Sync(t.Context(), "shop") }()
	m.until("shop", "the operation of alice", func(a *status.Application) bool { return a.Operation != nil })
	m.set("shop", `{status: {operationState: {phase: Running, startedAt: "2026-01-01T12:00:05Z", operation: {initiatedBy: {username: alice}, sync: {}}}}}`)
	if who := m.live("shop").Operation.InitiatedBy.Username; who != "alice" {
		t.Fatalf("the operation is of %s", who)
	}
	m.controller(succeed)
	m.set("shop", `{operation: null, status: {operationState: {phase: Succeeded, finishedAt: "2026-01-01T12:00:06Z"}}}`)
	if err := <-synced; err != nil {
		t.Fatal(err)
	}
	if who := m.live("shop").Status.OperationState.Operation.InitiatedBy.Username; who != Initiator {
		t.Errorf("the last operation is of %s", who)
	}
}

// ours is the state of an operation of this program.
func ours(run, revision, phase string) string {
	op := `{initiatedBy: {username: ladder}, sync: {revision: ` + revision + `}, info: [{name: ` + InfoRun + `, value: ` + run + `}, {name: ` + InfoToken + `, value: t-0}]}`
	return `{operation: ` + op + `, status: {operationState: {phase: ` + phase + `, startedAt: "2026-01-01T12:00:05Z", operation: ` + op + `}}}`
}

// After a crash the operation that runs is taken up; that of another run or
// revision is ended.
func TestOwnOperation(t *testing.T) {
	for name, tc := range map[string]struct {
		state string
		taken bool
	}{
		"of this run":            {ours("run-1", commit, "Running"), true},
		"of an earlier run":      {ours("run-0", commit, "Running"), false},
		"of an earlier revision": {ours("run-1", another, "Running"), false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, idle("shop", ""))
			m.set("shop", tc.state)
			e := m.engine("run-1", "shop")
			if tc.taken {
				synced := make(chan error, 1)
				go func() { synced <- e.Sync(t.Context(), "shop") }()
				m.set("shop", `{operation: null, status: {operationState: {phase: Succeeded, finishedAt: "2026-01-01T12:00:20Z", syncResult: {revision: `+commit+`, source: {repoURL: "https://git.example.com/platform.git", path: shop, targetRevision: main}}},
  reconciledAt: "2026-01-01T12:00:21Z", sync: {status: Synced, revision: `+commit+`}}}`)
				if err := <-synced; err != nil {
					t.Fatal(err)
				}
			} else {
				m.controller(succeed)
				mustSync(t, e, "shop")
			}
			if taken := m.live("shop").Status.OperationState.Value(InfoToken) == "t-0"; taken != tc.taken {
				t.Errorf("taken up: %v", taken)
			}
			terminated := false
			for _, p := range m.patches {
				patched, _ := p["status"].(map[string]any)
				state, _ := patched["operationState"].(map[string]any)
				terminated = terminated || state["phase"] == status.Terminating
			}
			if terminated == tc.taken {
				t.Errorf("terminated: %v", terminated)
			}
		})
	}
}

// An operation of an earlier run that the controller never took up is taken back.
func TestOwnOperationNotTakenUp(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	m.set("shop", ours("run-0", commit, "Running"))
	m.set("shop", `{status: {operationState: null}}`)
	m.controller(succeed)
	mustSync(t, m.engine("run-1", "shop"), "shop")
	if run := m.live("shop").Status.OperationState.Value(InfoRun); run != "run-1" {
		t.Errorf("the last operation is of %s", run)
	}
}

// An operation that this process has given up is ended by its next attempt.
func TestGivenUp(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	e := m.engine("run-1", "shop")
	hang := true
	m.controller(func(*status.Application) (string, string) {
		if hang {
			hang = false
			return status.Running, ""
		}
		return status.Succeeded, ""
	})
	ctx, cancel := context.WithCancel(t.Context())
	synced := make(chan error, 1)
	go func() { synced <- e.Sync(ctx, "shop") }()
	m.until("shop", "the first runs", func(a *status.Application) bool { return a.Started() })
	first := m.live("shop").Status.OperationState.Value(InfoToken)
	cancel()
	if err := <-synced; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if !m.live("shop").InProgress() {
		t.Fatal("the operation ended with the one who waited for it")
	}
	mustSync(t, e, "shop")
	if m.live("shop").Status.OperationState.Value(InfoToken) == first {
		t.Error("the attempt took up the operation that was given up")
	}
}

// What a process of the same run has synced to its end before it died is not
// synced again; the attempt after that is.
func TestDoneBefore(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	m.controller(succeed)
	mustSync(t, m.engine("run-1", "shop"), "shop")
	token := m.live("shop").Status.OperationState.Value(InfoToken)
	// It died before the controller had looked again.
	m.set("shop", `{status: {reconciledAt: "2026-01-01T12:00:19Z", sync: {status: OutOfSync, revision: `+another+`}}}`)
	e := m.engine("run-1", "shop")
	mustSync(t, e, "shop")
	if m.live("shop").Status.OperationState.Value(InfoToken) != token {
		t.Error("it was synced again")
	}
	m.until("shop", "the controller has looked again", func(a *status.Application) bool {
		_, asked := a.Annotations[status.RefreshAnnotation]
		return !asked
	})
	// It had looked again within the second in which the sync ended, but before that.
	m.set("shop", `{status: {reconciledAt: "2026-01-01T12:00:20Z", sync: {status: OutOfSync, revision: `+commit+`}}}`)
	mustSync(t, m.engine("run-1", "shop"), "shop")
	if m.live("shop").Status.OperationState.Value(InfoToken) != token {
		t.Error("it was synced again, since the comparison before the sync is taken for one after it")
	}
	mustSync(t, e, "shop")
	if m.live("shop").Status.OperationState.Value(InfoToken) == token {
		t.Error("the second attempt did nothing")
	}
	last := m.live("shop").Status.OperationState.Value(InfoToken)
	mustSync(t, m.engine("run-2", "shop"), "shop")
	if m.live("shop").Status.OperationState.Value(InfoToken) == last {
		t.Error("another run did nothing")
	}
}

// The request of a process that died may arrive, and be done, while the next one
// of the run is about to ask.
func TestRequestOfADeadProcess(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	var came atomic.Bool
	m.before = func(patch map[string]any) error {
		if patch["operation"] != nil && came.CompareAndSwap(false, true) {
			m.set("shop", ours("run-1", commit, "Succeeded"))
			m.set("shop", `{operation: null, status: {operationState: {finishedAt: "2026-01-01T12:00:20Z", syncResult: {revision: `+commit+`, source: {repoURL: "https://git.example.com/platform.git", path: shop, targetRevision: main}}},
  reconciledAt: "2026-01-01T12:00:21Z", sync: {status: Synced, revision: `+commit+`}}}`)
		}
		return nil
	}
	mustSync(t, m.engine("run-1", "shop"), "shop")
	if token := m.live("shop").Status.OperationState.Value(InfoToken); token != "t-0" {
		t.Errorf("it was synced again: %s", token)
	}
}

func TestSyncErrors(t *testing.T) {
	const terminated = "Operation terminated"
	for name, tc := range map[string]struct {
		patch    string
		phase    string
		message  string
		want     string
		final    bool
		replaced bool
	}{
		"failed":           {phase: status.Failed, message: "one or more objects failed", want: "one or more objects failed"},
		"terminated":       {phase: status.Failed, message: terminated, want: terminated},
		"project forbids":  {phase: status.Error, message: "resource apps:Deployment is not permitted in project shop", want: "is not permitted in project", final: true},
		"repository away":  {phase: status.Error, message: "ComparisonError: Failed to load target state: dial https://bob:hunter2@git.example.com", want: "ComparisonError"},
		"forbidden before": {patch: `status: {conditions: [{type: InvalidSpecError, message: "destination is not permitted"}]}`, want: "destination is not permitted", final: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, idle("shop", ""))
			if tc.patch != "" {
				m.set("shop", tc.patch)
			}
			m.controller(func(*status.Application) (string, string) { return tc.phase, tc.message })
			var at *executor.ObjectError
			if err := m.engine("run-1", "shop").Sync(t.Context(), "shop"); !errors.As(err, &at) {
				t.Fatalf("error = %v", err)
			}
			if !strings.Contains(at.Message, tc.want) || at.Final != tc.final || at.Object.Name != "shop" {
				t.Errorf("%+v", at)
			}
			if strings.Contains(at.Message, "hunter2") {
				t.Error("the message has the password of an address")
			}
		})
	}
}

// A controller that could not read the cluster is asked again: nothing was applied,
// and nothing is wrong with the component.
func TestClusterUnreadable(t *testing.T) {
	for name, tc := range map[string]struct {
		failures int32
		want     string
	}{
		"for a while": {failures: readLimit},
		"for good":    {failures: readLimit + 1, want: "net/http: request canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory(t, idle("shop", ""))
				var failures atomic.Int32
				m.controller(func(a *status.Application) (string, string) {
					if failures.Add(1) <= tc.failures {
						return status.Error, unreachable + " : failed to load open api schema: net/http: request canceled"
					}
					return succeed(a)
				})
				began := time.Now()
				err := m.engine("run-1", "shop").Sync(t.Context(), "shop")
				var at *executor.ObjectError
				if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &at) || !strings.Contains(at.Message, tc.want)) {
					t.Errorf("error = %v", err)
				}
				if waited := time.Since(began); waited < readLimit*readAgain {
					t.Errorf("asked again after %s", waited)
				}
			})
		})
	}
}

func TestSyncOfNothing(t *testing.T) {
	m := newMemory(t)
	var at *executor.ObjectError
	if err := m.engine("run-1", "shop").Sync(t.Context(), "shop"); !errors.As(err, &at) || at.Final || !strings.Contains(at.Message, "does not exist") {
		t.Errorf("error = %v", err)
	}
}

// A server that fails once is an error that a retry helps.
func TestSyncServerFails(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	m.controller(succeed)
	var failed atomic.Bool
	m.before = func(patch map[string]any) error {
		if patch["operation"] != nil && failed.CompareAndSwap(false, true) {
			return apierrors.NewInternalError(errors.New("etcd is away"))
		}
		return nil
	}
	e := m.engine("run-1", "shop")
	var at *executor.ObjectError
	if err := e.Sync(t.Context(), "shop"); !errors.As(err, &at) || at.Final {
		t.Fatalf("error = %v", err)
	}
	mustSync(t, e, "shop")
}

// An operation that somebody ends and replaces is told as such.
func TestReplaced(t *testing.T) {
	m := newMemory(t, idle("shop", ""))
	e := m.engine("run-1", "shop")
	synced := make(chan error, 1)
	go func() { synced <- e.Sync(t.Context(), "shop") }()
	m.until("shop", "ours is asked for", func(a *status.Application) bool { return a.Operation != nil })
	m.set("shop", `{operation: null}`)
	var at *executor.ObjectError
	if err := <-synced; !errors.As(err, &at) || at.Final || !strings.Contains(at.Message, "replaced") {
		t.Errorf("error = %v", err)
	}
}

// What is held comes back exactly as it was, through any number of crashes in
// between, and what a person has set meanwhile stays.
func TestHoldAndRelease(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		automated := []string{"{}", "{prune: true}", "{prune: false, selfHeal: true}", "{prune: true, selfHeal: true, allowEmpty: true}", "{enabled: true, selfHeal: true}", "{enabled: false, prune: true}"}
		policy := rapid.SampledFrom(append(automated, "")).Draw(r, "policy")
		text := ""
		if policy != "" {
			text = "automated: " + policy + rapid.SampledFrom([]string{"", ", syncOptions: [Validate=false]", ", retry: {limit: 2}", ", managedNamespaceMetadata: {labels: {a: b}}"}).Draw(r, "further")
		}
		m := newMemory(t, idle("shop", text))
		before := m.live("shop").SyncPolicy
		for range rapid.IntRange(1, 3).Draw(r, "processes") {
			e := m.engine("run-1", "shop")
			if err := e.Prepare(t.Context()); err != nil {
				r.Fatal(err)
			}
			e.Close()
		}
		if m.live("shop").SyncPolicy.IsAutomated() {
			r.Fatal("it is not held")
		}
		// The controller removes an empty policy whenever it comes to it, with what
		// is in it by then.
		if left, found := m.policy("shop"); found && len(left) == 0 && policy != "" {
			r.Fatal("the held Application has an empty policy")
		}
		meddled := rapid.Bool().Draw(r, "a person sets it")
		if meddled {
			m.set("shop", `spec: {syncPolicy: {automated: {selfHeal: false}}}`)
			before = m.live("shop").SyncPolicy
		}
		for range rapid.IntRange(1, 2).Draw(r, "releases") {
			e := m.engine(rapid.SampledFrom([]string{"run-1", "run-2"}).Draw(r, "run"), "shop")
			if err := e.Release(t.Context()); err != nil {
				r.Fatal(err)
			}
			e.Close()
		}
		after := m.live("shop")
		if diff := cmp.Diff(before, after.SyncPolicy); diff != "" || after.Annotations[status.HeldAnnotation] != "" {
			r.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

// A request to compare again is never the only annotation: the controller takes
// such a one away with all that came after it. What stands beside it goes with the
// release.
func TestRefreshDoesNotStandAlone(t *testing.T) {
	m := newMemory(t, idle("shop", "automated: {selfHeal: true}"))
	e := m.engine("run-1", "shop")
	shop := m.live("shop")
	if err := e.refresh(t.Context(), shop.Ref); err != nil {
		t.Fatal(err)
	}
	seen := m.live("shop")
	if len(seen.Annotations) < 2 {
		t.Fatalf("annotations %v", seen.Annotations)
	}
	if err := e.hold(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	// As the controller does that has not seen the hold.
	left := `null`
	if len(seen.Annotations) > 1 {
		left = `{` + status.RefreshAnnotation + `: null}`
	}
	m.set("shop", `metadata: {annotations: `+left+`}`)
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := m.live("shop")
	if !after.SyncPolicy.SelfHeals() || len(after.Annotations) > 0 {
		t.Errorf("sync policy %v, annotations %v", after.SyncPolicy, after.Annotations)
	}
}

// Somebody has asked for a comparison with nothing beside it: what the Application
// was before it was held is written down again after the controller has taken all
// annotations away.
func TestRefreshOfSomebodyElse(t *testing.T) {
	m := newMemory(t, idle("shop", "automated: {selfHeal: true}"))
	m.set("shop", `metadata: {annotations: {`+status.RefreshAnnotation+`: normal}}`)
	e := m.engine("run-1", "shop")
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	// As the controller does that has not seen the hold.
	m.set("shop", `metadata: {annotations: null}`)
	m.until("shop", "it is written down again", func(a *status.Application) bool { return a.Annotations[status.HeldAnnotation] != "" })
	// A later process knows it from there.
	if err := m.engine("run-1", "shop").Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := m.live("shop"); !after.SyncPolicy.SelfHeals() || len(after.Annotations) > 0 {
		t.Errorf("sync policy %v, annotations %v", after.SyncPolicy, after.Annotations)
	}
}

// What a process has held it gives back also where somebody has taken its note
// away, and only once.
func TestReleaseWithoutTheRecord(t *testing.T) {
	m := newMemory(t, idle("shop", "automated: {selfHeal: true}"))
	e := m.engine("run-1", "shop")
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.set("shop", `metadata: {annotations: null}`)
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !m.live("shop").SyncPolicy.SelfHeals() {
		t.Error("the automated sync is not back")
	}
	m.set("shop", `spec: {syncPolicy: null}`)
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.live("shop").SyncPolicy.IsAutomated() {
		t.Error("it was given back twice")
	}
}
