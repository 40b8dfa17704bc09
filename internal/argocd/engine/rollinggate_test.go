package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
)

// The template of the ApplicationSet is changed, and no commit is made. RollingSync
// rolls out what makes an Application out of sync. A change that does not, such as
// one of a hook, it does not notice: the migration of b is never run. Driven
// everything is synced from the spec as it is.
func TestRealTemplateOnly(t *testing.T) {
	names := []string{"a", "b"}
	files := release("1", names...)
	files["apps/b/migration.yaml"] = migration("1")
	for name, text := range maps.Clone(files) {
		files["other"+strings.TrimPrefix(name, "apps")] = text
	}
	files["other/a/settings.yaml"] = settings("a", "other")
	files["other/b/migration.yaml"] = migration("other")
	begin := func(s *fixture) string {
		s.rolling(files, names...)
		if got := s.migrated("b"); got != "migration-1" {
			s.t.Fatalf("the last migration is %q", got)
		}
		return s.git("-C", s.work, "rev-parse", "HEAD")
	}
	change := func(s *fixture) {
		s.patchSet(`{"spec":{"template":{"spec":{"source":{"path":"other/{{.name}}"}}}}}`)
		s.until("the template is in the Applications", func() bool {
			return s.live("a").Source["path"] == "other/a" && s.live("b").Source["path"] == "other/b"
		})
	}
	compared(t, func(s *fixture) {
		begin(s)
		change(s)
		s.settled("other", "a")
		s.until("b is compared with its new spec", func() bool { return s.live("b").IsCompared() })
		s.reconciled()
		// A component leaves Healthy when its revision changes or it is out of sync.
		b := s.live("b")
		if got := s.stands("b"); got != "Healthy" || b.Status.Sync.Status != status.Synced || b.InProgress() {
			s.t.Errorf("b is %s, %s", got, b.Status.Sync.Status)
		}
		if got := s.migrated("b"); got != "migration-1" {
			s.t.Errorf("the last migration is %q: RollingSync has noticed the change", got)
		}
	}, func(s *fixture) {
		r1 := begin(s)
		e := s.held(r1)
		change(s)
		requires := map[string][]string{"b": {"a"}}
		seen := s.record(r1, nil)
		end := s.drives(e, s.spec(r1, rollout.Edges, names, requires), nil, nil)
		if end[""].Status != rollout.Status(rollout.Succeeded) {
			s.t.Errorf("%s: %s", end[""].Status, end[""].Message)
		}
		if got := s.version("a"); got != "other" {
			s.t.Errorf("a is at version %s", got)
		}
		if got := s.migrated("b"); got != "migration-other" {
			s.t.Errorf("the last migration is %q", got)
		}
		if end["b"].StartedAt.Before(end["a"].HealthyAt) {
			s.t.Error("b was started before a was Healthy")
		}
		for _, name := range names {
			s.until("the operation was recorded", func() bool { return seen.count(name) > 0 })
			if n := seen.count(name); n != 1 {
				s.t.Errorf("%s was synced by %d operations", name, n)
			}
		}
	})
}

// regress takes away what a needs, and its pod.
func (s *fixture) regress() {
	s.t.Helper()
	if err := s.client.Resource(secrets).Namespace(s.name).Delete(s.t.Context(), "needed", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	pods := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(s.name)
	ofA := metav1.ListOptions{LabelSelector: "app=a"}
	// A pod that is made before the kubelet has seen the Secret go starts all the same.
	s.until("the pod of a waits for its Secret", func() bool {
		list, err := pods.List(s.t.Context(), ofA)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, pod := range list.Items {
			text, err := pod.MarshalJSON()
			if err != nil {
				s.t.Fatal(err)
			}
			if pod.GetDeletionTimestamp() == nil && strings.Contains(string(text), "CreateContainerConfigError") {
				return true
			}
		}
		ready := func(pod unstructured.Unstructured) bool {
			started, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
			return started == "Running"
		}
		if slices.ContainsFunc(list.Items, ready) {
			if err := pods.DeleteCollection(s.t.Context(), metav1.DeleteOptions{}, ofA); err != nil {
				s.t.Fatal(err)
			}
		}
		return false
	})
	s.until("a has regressed", func() bool { return s.live("a").Status.Health.Status != "Healthy" })
}

// a regresses, and b, the step right after it, is not started: that RollingSync does
// rightly. a regresses while b is synced: RollingSync looks at the step right before
// only, so that c starts when b is Healthy, while a is not, and the whole is called
// completed. Driven c waits until a is Healthy again.
func TestRealRegression(t *testing.T) {
	names := []string{"a", "b", "c"}
	first := func() map[string]string {
		files := release("1", names...)
		files["apps/a/workload.yaml"] = needy("a", "1")
		return files
	}
	second := func() map[string]string {
		files := release("2", "b", "c")
		files["apps/b/hook.yaml"] = heldHook
		return files
	}
	compared(t, func(s *fixture) {
		s.provide()
		s.rolling(first(), names...)
		s.regress()
		s.until("the ApplicationSet knows that a has regressed", func() bool { return s.known("a") != "Healthy" })
		r2 := s.commit(second())
		s.push()
		s.until("b is due but for a", func() bool { return s.live("b").Status.Sync.Revision == r2 && s.stands("b") != "Healthy" })
		s.reconciled()
		if b := s.live("b"); b.InProgress() || b.Status.Sync.Status != status.OutOfSync {
			s.t.Errorf("b is %s, %s", s.stands("b"), b.Status.Sync.Status)
		}
		s.provide()
		s.until("b waits for its hook", func() bool { return s.live("b").Started() })
		s.regress()
		s.letHook()
		s.settled("2", "b", "c")
		s.reconciled()
		if a := s.live("a"); a.Status.Health.Status == "Healthy" || s.stands("a") != "Healthy" || s.rolloutProgresses() {
			s.t.Errorf("a is %s, RollingSync calls it %s, and the rollout goes on: %v", a.Status.Health.Status, s.stands("a"), s.rolloutProgresses())
		}
	}, func(s *fixture) {
		s.provide()
		s.rolling(first(), names...)
		r2 := s.commit(second())
		e := s.held(r2)
		requires := map[string][]string{"b": {"a"}, "c": {"a", "b"}}
		seen := s.record(r2, requires)
		spec := s.spec(r2, rollout.Edges, names, requires)
		for i := range spec.Components {
			spec.Components[i].Timeout = patience
		}
		var regressed, let, healed sync.Once
		var waits sync.WaitGroup
		end := s.drives(e, spec, nil, func(view executor.View) {
			if is(view, "b", rollout.Syncing) {
				regressed.Do(func() {
					waits.Go(func() {
						s.until("b waits for its hook", func() bool { return s.live("b").Started() })
						s.regress()
					})
				})
			}
			switch {
			case is(view, "a", rollout.Regressed) && is(view, "b", rollout.Syncing):
				let.Do(func() { waits.Go(s.letHook) })
			case is(view, "a", rollout.Regressed) && is(view, "b", rollout.Done):
				healed.Do(func() {
					if got := s.version("c"); got != "1" {
						s.t.Errorf("c is at version %s while a is not Healthy", got)
					}
					s.provide()
				})
			}
		})
		waits.Wait()
		a, c := end["a"], end["c"]
		if end[""].Status != rollout.Status(rollout.Succeeded) || s.version("c") != "2" {
			s.t.Errorf("%s: %s; c is at version %s", end[""].Status, end[""].Message, s.version("c"))
		}
		if !a.HealthyAt.After(end["b"].HealthyAt) || c.StartedAt.Before(a.HealthyAt) {
			s.t.Errorf("b was Healthy at %s, a again at %s, c was started at %s", end["b"].HealthyAt, a.HealthyAt, c.StartedAt)
		}
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if len(seen.early) > 0 {
			s.t.Errorf("early: %v", seen.early)
		}
	})
}

// known is the health of a component that the ApplicationSet controller has seen.
func (s *fixture) known(component string) string {
	s.t.Helper()
	obj, err := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace).Get(s.t.Context(), s.name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	resources, _, _ := unstructured.NestedSlice(obj.Object, "status", "resources")
	for _, r := range resources {
		if r, ok := r.(map[string]any); ok && r["name"] == s.apps[component].Name {
			health, _, _ := unstructured.NestedString(r, "health", "status")
			return health
		}
	}
	return ""
}

// rolloutProgresses is what the ApplicationSet says of its rollout.
func (s *fixture) rolloutProgresses() bool {
	s.t.Helper()
	obj, err := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace).Get(s.t.Context(), s.name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "RolloutProgressing" {
			return c["status"] == "True"
		}
	}
	return false
}

// The commit has manifests of a that cannot be rendered. For three minutes Argo CD
// leaves the Application as it was compared last: Synced and Healthy, at the commit
// before. RollingSync takes that for the health at the commit, rolls out b, and
// calls the whole completed. Driven the sync of a fails, and b is not started.
// Source: argo-cd, controller/state.go, ErrCompareStateRepo.
func TestRealStaleHealth(t *testing.T) {
	names := []string{"a", "b"}
	broken := func() map[string]string {
		files := release("2", names...)
		files["apps/a/broken.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n"
		return files
	}
	compared(t, func(s *fixture) {
		s.rolling(release("1", names...), names...)
		r1 := s.live("a").Status.Sync.Revision
		s.commit(broken())
		s.pushUntold() // who asks for a look at what cannot be rendered gets the name of the branch for its revision
		s.settled("2", "b")
		s.reconciled()
		a := s.live("a")
		if s.version("a") != "1" || a.Status.Sync.Revision != r1 || s.stands("a") != "Healthy" || s.rolloutProgresses() {
			s.t.Errorf("a is at version %s, compared at %s, RollingSync calls it %s", s.version("a"), a.Status.Sync.Revision, s.stands("a"))
		}
	}, func(s *fixture) {
		s.rolling(release("1", names...), names...)
		r2 := s.commit(broken())
		e := s.held(r2)
		spec := s.spec(r2, rollout.Edges, names, map[string][]string{"b": {"a"}})
		spec.Components[0].Retry = rollout.RetrySpec{}
		end := s.drives(e, spec, nil, nil)
		if a := end["a"]; a.Status != rollout.Failed || !strings.Contains(a.Message, "broken.yaml") {
			s.t.Errorf("a is %s: %s", a.Status, a.Message)
		}
		if b := end["b"]; b.Attempt != 0 || s.version("b") != "1" {
			s.t.Errorf("b is %s, at version %s", b.Status, s.version("b"))
		}
	})
}
