package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// set is an ApplicationSet that lists the components, in RollingSync steps of one
// each where rolling is set.
func (s *fixture) set(rolling bool, syncPolicy string, names ...string) string {
	var elements, steps []string
	for i, name := range names {
		elements = append(elements, fmt.Sprintf("{name: %s, step: \"%d\"}", name, i))
		steps = append(steps, fmt.Sprintf("{matchExpressions: [{key: step, operator: In, values: [\"%d\"]}], maxUpdate: 1}", i))
		s.apps[name] = status.Ref{Namespace: status.DefaultNamespace, Name: s.name + "-" + name}
	}
	strategy := ""
	if rolling {
		strategy = "strategy: {type: RollingSync, rollingSync: {steps: [" + strings.Join(steps, ", ") + "]}}"
	}
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [%[2]s]}}]
  %[3]s
  template:
    metadata: {name: "%[1]s-{{.name}}", labels: {step: "{{.step}}"}, finalizers: [resources-finalizer.argocd.argoproj.io]}
    spec:
      project: default
      destination: {server: https://kubernetes.default.svc, namespace: %[1]s}
      source: {repoURL: "file://%[4]s", path: "apps/{{.name}}", targetRevision: main}
      syncPolicy: {%[5]s}
`, s.name, strings.Join(elements, ", "), strategy, s.bare, syncPolicy)
}

// root makes an Application of the folder root, in Argo CD's own namespace.
func (s *fixture) root() status.Ref {
	s.t.Helper()
	text := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %[1]s-root, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: argocd}
  source: {repoURL: "file://%[2]s", path: root, targetRevision: main}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, s.name, s.bare)
	var obj unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.applications().Create(s.t.Context(), &obj, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = s.applications().Delete(s.context(), s.name+"-root", metav1.DeleteOptions{})
	})
	return status.Ref{Namespace: status.DefaultNamespace, Name: s.name + "-root"}
}

func (s *fixture) liveSet() *status.Set {
	s.t.Helper()
	obj, err := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace).Get(s.t.Context(), s.name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	set, err := status.ParseSet(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

// An ApplicationSet of a self-healing root Application, with RollingSync and
// without: the rollout's order is kept, against that of the set, and everything
// is afterwards as it was.
func TestRealSet(t *testing.T) {
	for name, rolling := range map[string]bool{"rolling": true, "all": false} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			names := []string{"a", "b", "c"}
			files := release("1", names...)
			files["root/set.yaml"] = s.set(rolling, healing, names...)
			s.commit(files)
			s.push()
			root := s.root()
			s.until("version 1, by Argo CD itself", func() bool {
				for _, name := range names {
					if s.version(name) != "1" || s.live(name).Status.Health.Status != "Healthy" {
						return false
					}
				}
				return true
			})
			s.until("the set is done with it", func() bool {
				progress := s.liveSet().Progress
				for _, name := range names {
					if rolling && progress[s.name+"-"+name].Status != "Healthy" {
						return false
					}
				}
				return true
			})
			before := s.liveSet()
			r2 := s.commit(release("2", names...))
			e := s.engine(r2, "run-1")
			if err := e.Prepare(s.context()); err != nil {
				t.Fatal(err)
			}
			s.push()
			s.until("Argo CD sees the commit", func() bool { return s.live("a").Status.Sync.Revision == r2 })
			for _, name := range names {
				if s.version(name) != "1" {
					t.Errorf("%s was synced before its turn", name)
				}
			}
			order := []string{"c", "b", "a"}
			seen := s.record(r2, map[string][]string{"b": {"c"}, "a": {"b"}})
			s.succeeds(e, s.spec(r2, rollout.Serial, order, nil))
			if err := e.Release(s.context()); err != nil {
				t.Fatal(err)
			}
			seen.mu.Lock()
			if len(seen.early) > 0 {
				t.Errorf("early: %v", seen.early)
			}
			for _, name := range names {
				if len(seen.tokens[name]) != 1 {
					t.Errorf("%s was synced by %d operations of the rollout", name, len(seen.tokens[name]))
				}
			}
			seen.mu.Unlock()
			after := s.liveSet()
			if diff := cmp.Diff(before.Steps, after.Steps); diff != "" || after.SyncPolicy != before.SyncPolicy || after.Annotations[status.HeldAnnotation] != "" {
				t.Errorf("the set is not as it was: %s %q", diff, after.SyncPolicy)
			}
			var rootNow string
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("the root: %s", rootNow)
				}
			})
			s.until("the root heals itself again, the set its Applications", func() bool {
				obj, err := s.applications().Get(t.Context(), root.Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				a, err := status.Parse(obj)
				if err != nil {
					t.Fatal(err)
				}
				rootNow = fmt.Sprintf("sync policy %v, annotations %v, %s at %s, compared %s, in progress %t, conditions %v", a.SyncPolicy, a.Annotations,
					a.Status.Sync.Status, a.Status.Sync.Revision, a.Status.ReconciledAt, a.InProgress(), a.Status.Conditions)
				return a.SyncPolicy.SelfHeals() && a.Status.Sync.Status == status.Synced && (rolling || s.live("a").SyncPolicy.SelfHeals())
			})
		})
	}
}

// A RollingSync is followed without being driven, and says what an Application of
// a later step waits for, down to the object.
func TestRealFollow(t *testing.T) {
	s := newFixture(t)
	files := release("1", "a", "b")
	files["apps/a/workload.yaml"] = strings.Replace(workload("a", "1"), "image: example.com/app", "image: example.com/app, envFrom: [{secretRef: {name: missing}}]", 1)
	r1 := s.commit(files)
	s.push()
	var obj unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(s.set(true, healing, "a", "b")), &obj.Object); err != nil {
		t.Fatal(err)
	}
	sets := s.client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace)
	if _, err := sets.Create(t.Context(), &obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sets.Delete(s.context(), s.name, metav1.DeleteOptions{}) })
	inspector, err := status.NewInspector(s.config, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := status.New(status.Config{REST: s.config, Applications: s.apps, Want: status.Want{Revision: r1}, Inspector: inspector})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	seen := watch(t, w)
	var why []status.Cause
	s.until("b waits for a, whose Deployment is not ready", func() bool {
		why = w.Why("b")
		return len(why) == 2 && why[0].Object.Kind == "Deployment" && why[1].Code == status.WaitsForStep
	})
	if want := "waits for step 2 of ApplicationSet follow: follow-a of step 1 not Healthy"; why[1].Message != want {
		t.Errorf("message %q, want %q", why[1].Message, want)
	}
	t.Log(why)
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "missing"}}}
	if _, err := s.client.Resource(secrets).Namespace(s.name).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until("both are Healthy at the revision", func() bool {
		a, b := seen.last("a"), seen.last("b")
		return a.Health == rollout.Healthy && a.Revision == r1 && b.Health == rollout.Healthy && b.Revision == r1
	})
	if why := w.Why("b"); why != nil {
		t.Errorf("a Healthy component waits: %v", why)
	}
}
