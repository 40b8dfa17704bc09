package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// What the tests of this file and of rollinggate_test.go say of RollingSync is what
// the ApplicationSet controller of Argo CD v3.2.11 does; the rules are those of
// argo-cd, applicationset/controllers/applicationset_controller.go. docs/driving.md
// tells of them, so a test that fails with another version asks for both to change.

// compared shows a scenario under RollingSync and driven, each in a fixture of its
// own.
func compared(t *testing.T, rolling, driven func(s *fixture)) {
	t.Helper()
	t.Parallel()
	for name, play := range map[string]func(*fixture){"RollingSync": rolling, "driven": driven} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(newFixture(t))
		})
	}
}

// applySet makes an ApplicationSet.
func (s *fixture) applySet(text string) {
	s.t.Helper()
	var obj unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		s.t.Fatal(err)
	}
	sets := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace)
	if _, err := sets.Create(s.t.Context(), &obj, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = sets.Delete(s.context(), obj.GetName(), metav1.DeleteOptions{}) })
}

// named gives the ApplicationSet of a text another name.
func (s *fixture) named(name, text string) string {
	return strings.Replace(text, "metadata: {name: "+s.name+",", "metadata: {name: "+name+",", 1)
}

func (s *fixture) setNamed(name string) *status.Set {
	s.t.Helper()
	obj, err := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	set, err := status.ParseSet(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

// stands is where RollingSync says that a component stands; empty where it does
// not know of it yet.
func (s *fixture) stands(component string) string {
	s.t.Helper()
	return s.liveSet().Progress[s.apps[component].Name].Status
}

func (s *fixture) patchSet(patch string) {
	s.t.Helper()
	if _, err := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace).
		Patch(s.t.Context(), s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// reconciled has the ApplicationSet controller go through everything a few more
// times: it removes the annotation at the end of what it does.
func (s *fixture) reconciled() {
	s.t.Helper()
	for range 3 {
		s.patchSet(`{"metadata":{"annotations":{"` + status.SetRefreshAnnotation + `":"true"}}}`)
		s.until("the ApplicationSet is reconciled", func() bool {
			_, asked := s.liveSet().Annotations[status.SetRefreshAnnotation]
			return !asked
		})
	}
}

// settled waits until components are at a version, Healthy, and done by
// RollingSync.
func (s *fixture) settled(version string, names ...string) {
	s.t.Helper()
	s.until("RollingSync is done with version "+version, func() bool {
		for _, name := range names {
			if s.stands(name) != "Healthy" || s.version(name) != version || s.live(name).Status.Health.Status != "Healthy" {
				return false
			}
		}
		return true
	})
}

// rolling is a fixture in which RollingSync has brought everything to version 1, one
// component in a step.
func (s *fixture) rolling(files map[string]string, names ...string) {
	s.t.Helper()
	s.commit(files)
	s.push()
	s.applySet(s.set(true, healing, names...))
	s.settled("1", names...)
}

// held takes the Applications over for a rollout, and shows the commit to Argo CD.
func (s *fixture) held(revision string) *Engine {
	s.t.Helper()
	e := s.engine(revision, "run-1")
	if err := e.Prepare(s.context()); err != nil {
		s.t.Fatal(err)
	}
	s.push()
	return e
}

// drives drives a rollout by a clock, nil for the system's, and calls seen after
// every step of it.
func (s *fixture) drives(e *Engine, spec rollout.Spec, c clock.Clock, seen func(executor.View)) map[string]rollout.ComponentState {
	s.t.Helper()
	outcome, err := executor.Run(s.context(), executor.Config{Spec: spec, Engine: e, Clock: c, Sink: func(n executor.Notice) {
		for _, c := range n.Transitions {
			s.t.Logf("%s: %s -> %s %s", c.Component, c.From, c.To, c.Reason)
		}
		if seen != nil {
			seen(n.View)
		}
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]rollout.ComponentState{"": {Status: rollout.Status(outcome.Result), Message: outcome.State.Message}}
	for _, c := range outcome.State.Components {
		out[c.Name] = c
	}
	return out
}

// needy is a workload that does not become ready before the Secret needed is
// there.
func needy(name, version string) string {
	return strings.Replace(workload(name, version), "image: example.com/app", "image: example.com/app, envFrom: [{secretRef: {name: needed}}]", 1)
}

// provide makes the Secret that needy workloads need.
func (s *fixture) provide() {
	s.t.Helper()
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "needed"}}}
	if _, err := s.client.Resource(secrets).Namespace(s.name).Create(s.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// stuckAt reports whether a component waits for its Deployment.
func stuckAt(view executor.View, name string) bool {
	c, _ := view.Component(name)
	return c.Status == rollout.Waiting && c.Object.Kind == "Deployment"
}

func is(view executor.View, name string, status rollout.Status) bool {
	c, _ := view.Component(name)
	return c.Status == status
}

// One component never becomes Healthy. RollingSync knows no timeout, and has
// everything of later steps wait for ever, also what has nothing to do with it.
// Driven it times out, is named with its object, and holds up its dependents only.
func TestRealStuck(t *testing.T) {
	names := []string{"a", "b", "c"}
	compared(t, func(s *fixture) {
		files := release("1", names...)
		files["apps/a/workload.yaml"] = needy("a", "1")
		s.commit(files)
		s.push()
		s.applySet(s.set(true, healing, names...))
		s.until("a is synced, and not Healthy", func() bool {
			return s.stands("a") == "Progressing" && s.live("a").Status.Sync.Status == status.Synced && !s.live("a").InProgress()
		})
		s.reconciled()
		// A step leaves Progressing when its Application is Healthy or out of sync,
		// and a later one leaves Waiting when it is due: nothing else.
		for name, want := range map[string]string{"a": "Progressing", "b": "Waiting", "c": "Waiting"} {
			if got := s.stands(name); got != want {
				s.t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if b, c := s.version("b"), s.version("c"); b != "" || c != "" {
			s.t.Errorf("b is at version %q, c at %q", b, c)
		}
	}, func(s *fixture) {
		s.rolling(release("1", names...), names...)
		files := release("2", names...)
		files["apps/a/workload.yaml"] = needy("a", "2")
		r2 := s.commit(files)
		e := s.held(r2)
		spec := s.spec(r2, rollout.Edges, names, map[string][]string{"b": {"a"}})
		spec.OnFailure = rollout.Continue
		spec.Components[0].Retry = rollout.RetrySpec{}
		now := clocktesting.NewFakeClock(time.Now())
		end := s.drives(e, spec, now, func(view executor.View) {
			if stuckAt(view, "a") && is(view, "c", rollout.Done) {
				now.Step(spec.Components[0].Timeout)
			}
		})
		a, b, c := end["a"], end["b"], end["c"]
		if end[""].Status != rollout.Status(rollout.ResultFailed) || a.Status != rollout.TimedOut || a.Object.Kind != "Deployment" || a.Object.Name != "a" {
			s.t.Errorf("%s: a %s at %s: %s", end[""].Status, a.Status, a.Object.Human(), a.Message)
		}
		if b.Attempt != 0 || s.version("b") != "1" {
			s.t.Errorf("b, which requires a: %s, version %s", b.Status, s.version("b"))
		}
		if c.Status != rollout.Done || s.version("c") != "2" {
			s.t.Errorf("c, which does not: %s, version %s", c.Status, s.version("c"))
		}
	})
}

// One component cannot be synced. RollingSync begins its sync again and again
// without end, also where the Application asks for no retry: an Application that
// is out of sync after its sync goes back to Waiting, and its step is due. Driven
// the first answer of the API server is the last attempt.
func TestRealInvalid(t *testing.T) {
	names := []string{"a", "b"}
	const once = healing + ", retry: {limit: 0}"
	invalid := func(version string) map[string]string {
		files := release(version, names...)
		files["apps/a/more.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_Valid}\n"
		return files
	}
	compared(t, func(s *fixture) {
		s.commit(invalid("1"))
		s.push()
		s.applySet(s.set(true, once, names...))
		began := map[time.Time]bool{}
		s.until("the sync of a was begun five times", func() bool {
			if s.stands("a") == "" {
				return false
			}
			if state := s.live("a").Status.OperationState; state != nil {
				began[state.StartedAt] = true
			}
			return len(began) == 5
		})
		if got := s.version("b"); got != "" {
			s.t.Errorf("b is at version %q", got)
		}
	}, func(s *fixture) {
		s.commit(release("1", names...))
		s.push()
		s.applySet(s.set(true, once, names...))
		s.settled("1", names...)
		requires := map[string][]string{"b": {"a"}}
		r2 := s.commit(invalid("2"))
		e := s.held(r2)
		seen := s.record(r2, requires)
		end := s.drives(e, s.spec(r2, rollout.Edges, names, requires), nil, nil)
		if a := end["a"]; a.Status != rollout.Failed || a.Attempt != 1 || a.Object.Name != "Not_Valid" {
			s.t.Errorf("a: %s after %d attempts, at %s: %s", a.Status, a.Attempt, a.Object.Human(), a.Message)
		}
		if b := end["b"]; b.Attempt != 0 || s.version("b") != "1" {
			s.t.Errorf("b: %s, version %s", b.Status, s.version("b"))
		}
		s.until("the one operation was recorded", func() bool { return seen.count("a") > 0 })
		if n := seen.count("a"); n != 1 {
			s.t.Errorf("a was synced by %d operations", n)
		}
	})
}

// count is by how many operations of a rollout a component was synced.
func (o *operations) count(component string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.tokens[component])
}

// b of one ApplicationSet requires a of another. RollingSync orders what is in one
// set: b is synced and done while a is not Healthy. Driven it waits.
func TestRealTwoSets(t *testing.T) {
	sets := func(s *fixture) {
		platform, apps := s.name+"-platform", s.name
		s.applySet(s.named(platform, s.set(true, healing, "a")))
		s.applySet(s.named(apps, s.set(true, healing, "b")))
	}
	compared(t, func(s *fixture) {
		files := release("1", "a", "b")
		files["apps/a/workload.yaml"] = needy("a", "1")
		s.commit(files)
		s.push()
		sets(s)
		s.until("b is done", func() bool { return s.stands("b") == "Healthy" && s.version("b") == "1" })
		// The Secret is not there: a cannot be Healthy, and was not.
		if a := s.setNamed(s.name + "-platform").Progress[s.apps["a"].Name]; a.Status == "Healthy" {
			s.t.Errorf("a is %+v", a)
		}
	}, func(s *fixture) {
		s.commit(release("1", "a", "b"))
		s.push()
		sets(s)
		s.until("both are done", func() bool {
			return s.stands("b") == "Healthy" && s.setNamed(s.name + "-platform").Progress[s.apps["a"].Name].Status == "Healthy" &&
				s.version("a") == "1" && s.version("b") == "1"
		})
		files := release("2", "a", "b")
		files["apps/a/workload.yaml"] = needy("a", "2")
		r2 := s.commit(files)
		e := s.held(r2)
		requires := map[string][]string{"b": {"a"}}
		seen := s.record(r2, requires)
		provided := false
		end := s.drives(e, s.spec(r2, rollout.Edges, []string{"a", "b"}, requires), nil, func(view executor.View) {
			if stuckAt(view, "a") && !provided {
				provided = true
				if got := s.version("b"); got != "1" {
					s.t.Errorf("b is at version %s while a is not Healthy", got)
				}
				s.provide()
			}
		})
		if end[""].Status != rollout.Status(rollout.Succeeded) || !provided || s.version("b") != "2" {
			s.t.Errorf("%s: %s; a was stuck: %v; b is at version %s", end[""].Status, end[""].Message, provided, s.version("b"))
		}
		if end["b"].StartedAt.Before(end["a"].HealthyAt) {
			s.t.Error("b was started before a was Healthy")
		}
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if len(seen.early) > 0 {
			s.t.Errorf("early: %v", seen.early)
		}
	})
}

// migration is a hook whose name says at which version it is.
func migration(version string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata:
  name: migration-%s
  annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}
spec:
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: example.com/job}]}}
`, version)
}

// migrated is the hook that the last operation on a component ran to its end.
func (s *fixture) migrated(component string) string {
	s.t.Helper()
	state := s.live(component).Status.OperationState
	if state == nil || state.SyncResult == nil {
		return ""
	}
	for _, r := range state.SyncResult.Resources {
		if r.HookType == "PreSync" && r.HookPhase == status.Succeeded {
			return r.Name
		}
	}
	return ""
}
