package engine

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/executor"
)

const ofSet = `, ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, name: platform, uid: u}]`

// owned is an Application with something more in its metadata.
func owned(name, policy, metadata string) string {
	return strings.Replace(idle(name, policy), "namespace: argocd}", "namespace: argocd"+metadata+"}", 1)
}

func platformSet(spec string) string {
	return "{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: platform, namespace: argocd, annotations: {argocd.argoproj.io/tracking-id: 'root:argoproj.io/ApplicationSet:argocd/platform'}}, spec: {" + spec + "}}"
}

const rollingSteps = `strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: a, operator: In, values: [b]}], maxUpdate: 25%}, {matchExpressions: []}]}}`

const instanceSetting = "{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: argocd}, data: {application.instanceLabelKey: argocd.argoproj.io/instance}}"

// root is the Application that applies the others, at the commit.
func rootApplication(more string) string {
	return strings.NewReplacer("status: OutOfSync", "status: Synced", another, commit).Replace(idle("root", "automated: {selfHeal: true}"+more))
}

// generator plays the ApplicationSet controller: it removes the annotation that
// asks it to generate. The application controller only compares.
func (m *memory) generator() {
	queue := make(chan *unstructured.Unstructured, 1000)
	m.mu.Lock()
	m.written = func(obj *unstructured.Unstructured) { queue <- obj }
	m.mu.Unlock()
	done := make(chan struct{})
	m.t.Cleanup(func() {
		m.mu.Lock()
		m.written = nil
		m.mu.Unlock()
		close(queue)
		<-done
	})
	go func() {
		defer close(done)
		for obj := range queue {
			for kind, annotation := range map[schema.GroupVersionResource]string{status.ApplicationSets(): status.SetRefreshAnnotation, status.Applications(): status.RefreshAnnotation} {
				if _, asked := obj.GetAnnotations()[annotation]; asked {
					if _, err := m.apply(kind, "argocd", obj.GetName(), map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: nil}}}); err != nil {
						m.t.Error(err)
					}
				}
			}
		}
	}()
}

func (m *memory) liveSet() *unstructured.Unstructured {
	m.t.Helper()
	obj, err := m.client.Resource(status.ApplicationSets()).Namespace("argocd").Get(m.t.Context(), "platform", metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return obj
}

func TestOwners(t *testing.T) {
	const automated = "automated: {selfHeal: true}"
	const leaving = `ignoreApplicationDifferences: [{jsonPointers: [/spec/syncPolicy]}], preservedFields: {annotations: [` + status.HeldAnnotation + `]}`
	const tracked = `, annotations: {argocd.argoproj.io/tracking-id: 'root:argoproj.io/Application:argocd/shop'}`
	const ignoring = `ignoreDifferences: [{group: argoproj.io, kind: Application, jsonPointers: [/spec/syncPolicy/automated]}]`
	for name, tc := range map[string]struct {
		objects []string
		// held says what is held of: the Application, the set's steps, the set's
		// policy, the root.
		held string
	}{
		"on its own":                              {[]string{idle("shop", automated)}, "application"},
		"not automated":                           {[]string{idle("shop", "")}, ""},
		"of a set":                                {[]string{owned("shop", automated, ofSet), platformSet("")}, "application policy"},
		"of a set that leaves it":                 {[]string{owned("shop", automated, ofSet), platformSet(leaving)}, "application"},
		"of a set that only creates":              {[]string{owned("shop", automated, ofSet), platformSet("syncPolicy: {applicationsSync: create-only}")}, "application"},
		"of a set, not automated":                 {[]string{owned("shop", "", ofSet), platformSet("")}, ""},
		"of a RollingSync":                        {[]string{owned("shop", "", ofSet), platformSet(rollingSteps)}, "steps"},
		"of a RollingSync that stands still":      {[]string{owned("shop", "", ofSet), platformSet(strings.ReplaceAll(strings.ReplaceAll(rollingSteps, "25%", "0"), "matchExpressions: []}", "maxUpdate: 0}"))}, ""},
		"of a RollingSync of a root":              {[]string{owned("shop", "", ofSet), platformSet(rollingSteps), rootApplication("")}, "root steps"},
		"of a root":                               {[]string{owned("shop", automated, tracked), rootApplication("")}, "application root"},
		"of a root by label":                      {[]string{owned("shop", automated, ", labels: {app.kubernetes.io/instance: root}"), rootApplication("")}, "application root"},
		"of a root by a label of its own":         {[]string{owned("shop", automated, ", labels: {argocd.argoproj.io/instance: root, app.kubernetes.io/instance: shop-chart}"), rootApplication(""), instanceSetting}, "application root"},
		"of a root that is gone":                  {[]string{owned("shop", automated, tracked)}, "application"},
		"of a root, not automated":                {[]string{owned("shop", "", tracked), rootApplication("")}, ""},
		"of a root that leaves it":                {[]string{owned("shop", automated, tracked), strings.Replace(rootApplication(", syncOptions: [RespectIgnoreDifferences=true]"), "  project: default", "  project: default\n  "+ignoring, 1)}, "application"},
		"of a root that leaves it until it syncs": {[]string{owned("shop", automated, tracked), strings.NewReplacer("  project: default", "  project: default\n  "+ignoring, "    comparedTo:\n", "    comparedTo:\n      "+ignoring+"\n").Replace(rootApplication(""))}, "application root"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, tc.objects...)
			m.generator()
			snapshot := func() map[string]map[string]any {
				specs := map[string]map[string]any{}
				for _, kind := range []schema.GroupVersionResource{status.Applications(), status.ApplicationSets()} {
					list, err := m.client.Resource(kind).Namespace("argocd").List(t.Context(), metav1.ListOptions{})
					if err != nil {
						t.Fatal(err)
					}
					for _, obj := range list.Items {
						specs[obj.GetKind()+obj.GetName()] = map[string]any{"spec": obj.Object["spec"], "held": obj.GetAnnotations()[status.HeldAnnotation]}
					}
				}
				return specs
			}
			before := snapshot()
			if err := m.engine("run-1", "shop").Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			var held []string
			add := func(name string, annotations map[string]string) {
				if annotations[status.HeldAnnotation] != "" {
					held = append(held, name)
				}
			}
			add("application", m.live("shop").Annotations)
			for _, text := range tc.objects[1:] {
				if strings.Contains(text, "name: root") {
					add("root", m.live("root").Annotations)
				}
			}
			for _, text := range tc.objects[1:] {
				if strings.Contains(text, "name: platform") {
					set, err := status.ParseSet(m.liveSet())
					if err != nil {
						t.Fatal(err)
					}
					what := "policy"
					if set.Rolling {
						what = "steps"
						if set.Annotations[status.HeldAnnotation] != "" && !set.Stopped() {
							t.Error("a step may still update")
						}
					} else if set.Annotations[status.HeldAnnotation] != "" && set.SyncPolicy != createOnly {
						t.Errorf("the policy is %q", set.SyncPolicy)
					}
					add(what, set.Annotations)
				}
			}
			if got := strings.Join(held, " "); got != tc.held {
				t.Errorf("held %q, want %q", got, tc.held)
			}
			// Another process of another run that was told to mend it.
			if err := m.engine("run-2", "shop").Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			after := snapshot()
			for _, specs := range []map[string]map[string]any{before, after} {
				for _, s := range specs {
					// A policy that was never written may stay behind empty.
					if spec, _ := s["spec"].(map[string]any); spec != nil {
						if policy, _ := spec["syncPolicy"].(map[string]any); len(policy) == 0 {
							delete(spec, "syncPolicy")
						}
					}
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("not as it was (-before +after):\n%s", diff)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []string
		want    string
	}{
		"a set that is not seen": {[]string{owned("shop", "", ofSet)}, "allow get, list, watch and patch of applicationsets.argoproj.io"},
		"a hydrated source": {[]string{strings.Replace(idle("shop", ""), "  project: default", "  sourceHydrator: {drySource: {}}\n  project: default", 1)},
			"their sources are hydrated"},
		"a policy that no set may override": {[]string{owned("shop", "automated: {}", ofSet), platformSet(""),
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cmd-params-cm, namespace: argocd}, data: {applicationsetcontroller.policy: sync}}"},
			"spec.ignoreApplicationDifferences: [{jsonPointers: [/spec/syncPolicy/automated]}]"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, tc.objects...)
			var refused *RefusedError
			if err := m.engine("run-1", "shop").Prepare(t.Context()); !errors.As(err, &refused) {
				t.Fatalf("error = %v", err)
			}
			if !strings.Contains(refused.Error(), tc.want) || !strings.Contains(refused.Error(), "shop") {
				t.Error(refused)
			}
			if len(m.patches) > 0 {
				t.Errorf("something was changed: %v", m.patches)
			}
		})
	}
}

// With sources that cannot move, an Application keeps its automated sync when it
// is there already, and has it back as soon as it is synced.
func TestFixedSources(t *testing.T) {
	fixed := func(text string) string {
		return strings.ReplaceAll(text, "targetRevision: main", "targetRevision: "+commit)
	}
	there := strings.NewReplacer("status: OutOfSync", "status: Synced", another, commit).Replace(fixed(idle("there", "automated: {selfHeal: true}")))
	m := newMemory(t, there, fixed(idle("shop", "automated: {selfHeal: true}")))
	m.controller(succeed)
	e := m.engine("run-1", "shop", "there")
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !m.live("there").SyncPolicy.SelfHeals() || m.live("shop").SyncPolicy.IsAutomated() {
		t.Error("what is there is held, or what is not is not")
	}
	mustSync(t, e, "shop")
	if a := m.live("shop"); !a.SyncPolicy.SelfHeals() || a.Annotations[status.HeldAnnotation] != "" {
		t.Error("automated sync is not back after the sync")
	}
}

// A rollout that cannot begin leaves nothing held.
func TestPrepareFails(t *testing.T) {
	m := newMemory(t, idle("a", "automated: {prune: true}"), idle("b", "automated: {selfHeal: true}"))
	var holds atomic.Int32
	m.before = func(patch map[string]any) error {
		if held, _, _ := unstructured.NestedString(patch, "metadata", "annotations", status.HeldAnnotation); held != "" && holds.Add(1) == 2 {
			return apierrors.NewInternalError(errors.New("etcd is away"))
		}
		return nil
	}
	e := m.engine("run-1", "a", "b")
	if err := e.Prepare(t.Context()); !apierrors.IsInternalError(err) {
		t.Fatalf("error = %v", err)
	}
	if !m.live("a").SyncPolicy.Prunes() || !m.live("b").SyncPolicy.SelfHeals() {
		t.Error("something is held")
	}
	for _, name := range []string{"a", "b"} {
		err := e.watcher.Await(t.Context(), status.Ref{Namespace: "argocd", Name: name}, func(a *status.Application, _ status.Judgement) bool {
			return a.ResourceVersion == m.live(name).ResourceVersion
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m.live("a").SyncPolicy.IsAutomated() || m.live("b").SyncPolicy.IsAutomated() {
		t.Error("the second attempt holds nothing")
	}
}

// An Application that is made while the rollout goes on is held as well.
func TestHoldsWhatComesLate(t *testing.T) {
	m := newMemory(t, idle("there", "automated: {selfHeal: true}"))
	e := m.engine("run-1", "there", "shop")
	seen := watch(t, e)
	m.until("there", "it is held", func(a *status.Application) bool { return !a.SyncPolicy.IsAutomated() })
	for seen.last("shop").Health == "" {
		runtime.Gosched()
	}
	late := newMemory(t, idle("shop", "automated: {selfHeal: true}")).live("shop")
	obj := parseObject(t, idle("shop", "automated: {selfHeal: true}"))
	obj.SetResourceVersion("200")
	if _, err := m.client.Resource(status.Applications()).Namespace("argocd").Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.until("shop", "it is held", func(a *status.Application) bool { return !a.SyncPolicy.IsAutomated() })
	if err := e.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(late.SyncPolicy, m.live("shop").SyncPolicy); diff != "" {
		t.Errorf("not as it was: %s", diff)
	}
}

func TestRemoveRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []string
		want    string
	}{
		"what a set would make anew": {[]string{owned("old", "", ofSet), platformSet("")}, "would make it anew"},
		"what holds what stays":      {[]string{idle("old", "") + "  resources: [{group: argoproj.io, kind: Application, namespace: argocd, name: shop}]\n"}, "which is part of the rollout"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, tc.objects...)
			e, err := New(Config{Client: m.client, Revision: commit, Removals: map[string]status.Ref{"old": {Namespace: "argocd", Name: "old"}},
				Applications: map[string]status.Ref{"shop": {Namespace: "argocd", Name: "shop"}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Close)
			var at *executor.ObjectError
			if _, err := e.Remove(t.Context(), "old"); !errors.As(err, &at) || !at.Final || !strings.Contains(at.Message, tc.want) {
				t.Errorf("error = %v", err)
			}
			if m.live("old").Deleting {
				t.Error("it is being deleted")
			}
		})
	}
}

func TestMatch(t *testing.T) {
	parse := func(texts ...string) []*status.Application {
		m := newMemory(t, texts...)
		list, err := m.client.Resource(status.Applications()).Namespace("argocd").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out []*status.Application
		for i := range list.Items {
			a, err := status.Parse(&list.Items[i])
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, a)
		}
		return out
	}
	found := parse(idle("vault", ""), idle("dev-cache", ""), idle("store-dev", ""), owned("x", "", ", labels: {"+LabelComponent+": shop}"),
		owned("mail", "", ", labels: {environment: prod}"), owned("parent", "", ", labels: {environment: dev}"), owned("vaulted", "", ", labels: {environment: prod}"))
	components := func(names ...string) []model.Component {
		var out []model.Component
		for _, name := range names {
			out = append(out, model.Component{Name: name, Environment: "dev", Enabled: true})
		}
		return out
	}
	off := model.Component{Name: "off", Environment: "dev"}
	d, err := match("argocd", found, append(components("vault", "cache", "store", "shop"), off))
	if err != nil {
		t.Fatal(err)
	}
	ref := func(name string) status.Ref { return status.Ref{Namespace: "argocd", Name: name} }
	want := Discovery{Applications: map[string]status.Ref{"vault": ref("vault"), "cache": ref("dev-cache"), "store": ref("store-dev"), "shop": ref("x")}, Unclaimed: []status.Ref{ref("parent")}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = match("argocd", parse(idle("dev-a", ""), idle("a-dev", ""), owned("mail", "", ", labels: {environment: prod}")), components("a", "mail"))
	var problem *DiscoverError
	if !errors.As(err, &problem) || len(problem.Missing) != 1 || len(problem.Ambiguous) != 1 {
		t.Fatalf("error = %v", err)
	}
	for _, part := range []string{"component mail has no Application", "component a has several Applications: argocd/a-dev, argocd/dev-a", "ladder generate", LabelComponent} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

// The request by which a process that died holds an ApplicationSet may come while
// the next one is about to do the same: what was there before both is given back.
func TestHoldOfADeadProcess(t *testing.T) {
	for name, spec := range map[string]string{"steps": rollingSteps, "policy": ""} {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, owned("shop", "automated: {}", ofSet), platformSet(spec))
			m.generator()
			before := m.liveSet().Object["spec"]
			var came atomic.Bool
			m.before = func(patch map[string]any) error {
				spec, _ := patch["spec"].(map[string]any)
				policy, _ := spec["syncPolicy"].(map[string]any)
				if (spec["strategy"] != nil || policy["applicationsSync"] != nil) && came.CompareAndSwap(false, true) {
					annotations := patch["metadata"].(map[string]any)["annotations"]
					_, err := m.apply(status.ApplicationSets(), "argocd", "platform", map[string]any{"metadata": map[string]any{"annotations": annotations}, "spec": spec})
					return err
				}
				return nil
			}
			e := m.engine("run-1", "shop")
			if err := e.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if set := m.liveSet(); !came.Load() || set.GetAnnotations()[status.HeldAnnotation] == "" || cmp.Equal(before, set.Object["spec"]) {
				t.Fatalf("the set is not held: %v", set.Object["spec"])
			}
			if err := e.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
			set := m.liveSet()
			if policy, found, _ := unstructured.NestedMap(set.Object, "spec", "syncPolicy"); found && len(policy) == 0 {
				unstructured.RemoveNestedField(set.Object, "spec", "syncPolicy")
			}
			if diff := cmp.Diff(before, set.Object["spec"]); diff != "" || set.GetAnnotations()[status.HeldAnnotation] != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}
