package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// began is when the last operation of a component began and ended.
func (s *fixture) began(component string) (time.Time, time.Time) {
	state := s.live(component).Status.OperationState
	return state.StartedAt, state.FinishedAt
}

// Automated Applications are held while they wait, go one after the other to the
// revision, and have their automated sync back afterwards as it was.
func TestRealEdges(t *testing.T) {
	s := newFixture(t)
	names := []string{"a", "b", "c", "d", "e"}
	s.commit(release("1", names...))
	s.push()
	for _, name := range names {
		s.application(name, healing)
	}
	s.until("version 1 synced by Argo CD itself", func() bool {
		for _, name := range names {
			if s.version(name) != "1" {
				return false
			}
		}
		return true
	})
	r2 := s.commit(release("2", names...))
	e := s.engine(r2, "run-1")
	if err := e.Prepare(s.context()); err != nil {
		t.Fatal(err)
	}
	s.push()
	s.until("Argo CD sees the commit", func() bool { return s.live("e").Status.Sync.Revision == r2 })
	if got := s.version("e"); got != "1" {
		t.Fatalf("the last component is at version %s before its turn", got)
	}
	outcome := s.succeeds(e, s.spec(r2, rollout.Edges, names, map[string][]string{"b": {"a"}, "c": {"b"}, "e": {"d", "c"}}))
	at := map[string]rollout.ComponentState{}
	for _, c := range outcome.State.Components {
		at[c.Name] = c
	}
	for consumer, provider := range map[string]string{"b": "a", "c": "b", "e": "c"} {
		if at[consumer].StartedAt.Before(at[provider].HealthyAt) {
			t.Errorf("%s was started before %s was Healthy", consumer, provider)
		}
	}
	for _, name := range names {
		a := s.live(name)
		if got := s.version(name); got != "2" || a.SyncPolicy.Automated != nil {
			t.Errorf("%s: version %s, automated %v before the release", name, got, a.SyncPolicy.Automated)
		}
	}
	if err := e.Release(s.context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		a := s.live(name)
		if diff := cmp.Diff(map[string]any{"prune": true, "selfHeal": true}, a.SyncPolicy.Automated); diff != "" || a.Annotations[status.HeldAnnotation] != "" {
			t.Errorf("%s: automated sync is not what it was: %s, annotation %q", name, diff, a.Annotations[status.HeldAnnotation])
		}
	}
	if err := s.client.Resource(configMaps).Namespace(s.name).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("the deleted object is healed", func() bool { return s.version("a") == "2" })
	t.Logf("requests: %d reads, %d writes, %d watches", e.Requests().Reads(), e.Requests().Writes(), e.Requests().Watches())
}

// Applications without automated sync, in phases.
func TestRealPhases(t *testing.T) {
	s := newFixture(t)
	names := []string{"a", "b", "c", "d"}
	r1 := s.commit(release("1", names...))
	s.push()
	for _, name := range names {
		s.application(name, "")
	}
	e := s.engine(r1, "run-1")
	outcome := s.succeeds(e, s.spec(r1, rollout.Phases, names, nil))
	var last time.Time
	for _, c := range outcome.State.Components {
		if c.StartedAt.Before(last) {
			t.Errorf("%s was started before the phase before was Healthy", c.Name)
		}
		last = c.HealthyAt
		if c.Attempt != 1 {
			t.Errorf("%s took %d attempts", c.Name, c.Attempt)
		}
	}
}

// A change of the spec alone, at a revision that is there already, is rolled out.
func TestRealSpecOnly(t *testing.T) {
	s := newFixture(t)
	files := release("1", "a", "b")
	files["other/settings.yaml"] = settings("a", "other")
	r1 := s.commit(files)
	s.push()
	s.application("a", "")
	s.application("b", "")
	spec := s.spec(r1, rollout.Edges, []string{"a", "b"}, map[string][]string{"b": {"a"}})
	s.succeeds(s.engine(r1, "run-1"), spec)
	began, _ := s.began("b")
	// Timestamps of Argo CD are of whole seconds.
	s.until("a second has passed", func() bool { return time.Now().After(began.Add(1100 * time.Millisecond)) })
	s.patch("a", `{"spec":{"source":{"path":"other"}}}`)
	s.succeeds(s.engine(r1, "run-2"), spec)
	if got := s.version("a"); got != "other" {
		t.Errorf("version of a = %q", got)
	}
	if again, _ := s.began("b"); !again.After(began) {
		t.Error("b was not synced in the second run")
	}
}

// A newer commit while the rollout goes on moves nothing, and is taken up when
// the automated sync is back.
func TestRealHeadMoves(t *testing.T) {
	s := newFixture(t)
	names := []string{"a", "b", "c"}
	s.commit(release("1", names...))
	s.push()
	for _, name := range names {
		s.application(name, healing)
	}
	r2 := s.commit(release("2", names...))
	e := s.engine(r2, "run-1")
	if err := e.Prepare(s.context()); err != nil {
		t.Fatal(err)
	}
	s.push()
	newer := release("3", names...)
	newer["apps/a/extra.yaml"] = workload("extra", "3")
	newer["apps/b/extra.yaml"] = settings("extra-b", "3")
	newer["apps/c/broken.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n" // what names no kind is passed over
	r3 := s.commit(newer)
	spec := s.spec(r2, rollout.Edges, names, map[string][]string{"b": {"a"}, "c": {"b"}})
	pushed := false
	outcome, err := executor.Run(s.context(), executor.Config{Spec: spec, Engine: e, Sink: func(n executor.Notice) {
		for _, c := range n.Components {
			if c.Name == "a" && c.Status == rollout.Waiting && !pushed {
				s.push()
				pushed = true
			}
		}
		for _, c := range n.Transitions {
			t.Logf("%s: %s -> %s %s", c.Component, c.From, c.To, c.Reason)
		}
	}})
	if err != nil || outcome.Result != rollout.Succeeded {
		t.Fatalf("result %s (%s), error %v", outcome.Result, outcome.State.Message, err)
	}
	for _, name := range names {
		if got := s.version(name); got != "2" {
			t.Errorf("%s is at version %s, not at that of the rollout", name, got)
		}
	}
	if err := e.Release(s.context()); err != nil {
		t.Fatal(err)
	}
	s.until("the newer commit is taken up", func() bool { return s.version("b") == "3" && s.live("b").Status.Sync.Revision == r3 })
}

// heldHook is a hook that does not end before somebody lets it.
const heldHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: held
  annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/job}]}}
`

// letHook lets the hook run, also where a new one is about to replace it.
func (s *fixture) letHook() {
	s.t.Helper()
	s.until("the hook is there", func() bool {
		_, err := s.client.Resource(jobs).Namespace(s.name).Patch(s.t.Context(), "held", "application/merge-patch+json",
			[]byte(`{"spec":{"suspend":false}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		return err == nil
	})
}

// An operation of somebody else is waited for, never overwritten.
func TestRealForeignOperation(t *testing.T) {
	s := newFixture(t)
	files := release("1", "a")
	files["apps/a/hook.yaml"] = heldHook
	r1 := s.commit(files)
	s.push()
	s.application("a", "")
	s.patch("a", `{"operation":{"initiatedBy":{"username":"alice"},"sync":{}}}`)
	s.until("the operation of alice waits for its hook", func() bool { return s.live("a").Started() })
	e := s.engine(r1, "run-1")
	synced := make(chan error, 1)
	ctx := s.context()
	go func() { synced <- e.Sync(ctx, "a") }()
	var why []status.Cause
	s.until("the wait is explained", func() bool {
		why = e.Why("a")
		return len(why) == 1 && why[0].Code == status.HookWaits && strings.Contains(why[0].Message, "Job "+s.name+"/held")
	})
	if who := s.live("a").Current().InitiatedBy.Username; who != "alice" {
		t.Fatalf("the operation is that of %q", who)
	}
	s.letHook()
	s.until("ours has begun", func() bool {
		current := s.live("a").Current()
		return current != nil && current.InitiatedBy.Username == Initiator
	})
	s.until("its hook is new", func() bool { return s.live("a").Started() })
	s.until("its hook is let", func() bool {
		if s.live("a").InProgress() {
			s.letHook()
			return false
		}
		return true
	})
	if err := <-synced; err != nil {
		t.Fatal(err)
	}
}

// A failure names the object in the words of the API server.
func TestRealFailure(t *testing.T) {
	s := newFixture(t)
	r1 := s.commit(map[string]string{"apps/a/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_Valid}\n"})
	s.push()
	s.application("a", "")
	e := s.engine(r1, "run-1")
	var at *executor.ObjectError
	if err := e.Sync(s.context(), "a"); !errors.As(err, &at) {
		t.Fatalf("error = %v", err)
	}
	if at.Object.Kind != "ConfigMap" || at.Object.Name != "Not_Valid" || !at.Final || !strings.Contains(at.Message, "Invalid value") {
		t.Errorf("error at %+v: %s (final %v)", at.Object, at.Message, at.Final)
	}
	causes := e.Why("a")
	if len(causes) == 0 || causes[0].Code != status.OperationFailed {
		t.Errorf("why = %v", causes)
	}
}

// A removed Application takes along what it has applied, also without its
// finalizer.
func TestRealRemove(t *testing.T) {
	s := newFixture(t)
	r1 := s.commit(release("1", "a"))
	s.push()
	ref := s.application("a", "")
	s.succeeds(s.engine(r1, "run-1"), s.spec(r1, rollout.Edges, []string{"a"}, nil))
	e, err := New(Config{REST: s.config, Removals: map[string]status.Ref{"a": ref}, Revision: r1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	for range 2 {
		if _, err := e.Remove(s.context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.version("a"); got != "" {
		t.Errorf("the ConfigMap is still there at version %s", got)
	}
}

// With ReleaseHealthy what is done heals itself while the rollout goes on.
func TestRealReleaseHealthy(t *testing.T) {
	s := newFixture(t)
	names := []string{"a", "b"}
	s.commit(release("1", names...))
	s.push()
	for _, name := range names {
		s.application(name, healing)
	}
	s.until("version 1", func() bool { return s.version("a") == "1" && s.version("b") == "1" })
	files := release("2", names...)
	files["apps/b/hook.yaml"] = heldHook
	r2 := s.commit(files)
	e, err := New(Config{REST: s.config, Applications: s.apps, Revision: r2, Run: "run-1", SelfHeal: ReleaseHealthy})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err := e.Prepare(s.context()); err != nil {
		t.Fatal(err)
	}
	s.push()
	ended := make(chan executor.Outcome, 1)
	spec := s.spec(r2, rollout.Serial, names, nil)
	ctx := s.context()
	go func() {
		outcome, err := executor.Run(ctx, executor.Config{Spec: spec, Engine: e})
		if err != nil {
			t.Error(err)
		}
		ended <- outcome
	}()
	s.until("b waits for its hook", func() bool { return s.live("b").Started() })
	s.until("a has its automated sync back", func() bool { return s.live("a").SyncPolicy.SelfHeals() })
	if s.live("b").SyncPolicy.IsAutomated() {
		t.Error("b is not held")
	}
	if err := s.client.Resource(configMaps).Namespace(s.name).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("a heals itself", func() bool { return s.version("a") == "2" })
	s.letHook()
	if outcome := <-ended; outcome.Result != rollout.Succeeded {
		t.Errorf("result %s: %s", outcome.Result, outcome.State.Message)
	}
	if err := e.Release(s.context()); err != nil {
		t.Fatal(err)
	}
	if !s.live("b").SyncPolicy.SelfHeals() {
		t.Error("b has its automated sync not back")
	}
}

// Of several sources only those of the repository are pinned.
func TestRealSeveralSources(t *testing.T) {
	s := newFixture(t)
	other := filepath.Join(shared.dir, "repos", "other.git")
	s.commit(map[string]string{"more/more.yaml": settings("more", "other")})
	s.git("clone", "-q", "--bare", s.work, other)
	s.commit(release("1", "a"))
	s.push()
	s.application("a", healing)
	s.patch("a", fmt.Sprintf(`{"spec":{"source":null,"sources":[{"repoURL":"file://%[1]s","path":"apps/a","targetRevision":"main"},{"repoURL":"file://%[2]s","path":"more","targetRevision":"main"}]}}`, s.bare, other))
	s.until("version 1", func() bool { return s.version("a") == "1" && s.version("more") == "other" })
	r2 := s.commit(release("2", "a"))
	e, err := New(Config{REST: s.config, Applications: s.apps, Revision: r2, Repositories: []string{"file://" + s.bare}, Run: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err := e.Prepare(s.context()); err != nil {
		t.Fatal(err)
	}
	s.push()
	s.commit(release("3", "a"))
	s.push()
	s.succeeds(e, s.spec(r2, rollout.Edges, []string{"a"}, nil))
	if got := s.version("a"); got != "2" {
		t.Errorf("version %s", got)
	}
	revisions := s.live("a").Status.OperationState.SyncResult.Revisions
	if len(revisions) != 2 || revisions[0] != r2 || revisions[1] == r2 {
		t.Errorf("synced to %v", revisions)
	}
	if err := e.Release(s.context()); err != nil {
		t.Fatal(err)
	}
	s.until("version 3 is taken up", func() bool { return s.version("a") == "3" })
}
