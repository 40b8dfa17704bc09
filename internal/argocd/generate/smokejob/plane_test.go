package smokejob_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	batchv1client "k8s.io/client-go/kubernetes/typed/batch/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings"
	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// patience bounds every wait; only failures take that long.
const patience = 2 * time.Minute

// cluster is a plane with its simulated world.
type cluster struct {
	t      *testing.T
	core   *corev1client.CoreV1Client
	batch  *batchv1client.BatchV1Client
	access *authorizationv1client.AuthorizationV1Client
	roles  *rbacv1client.RbacV1Client
	dyn    dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func start(t *testing.T) cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a plane")
	}
	p, err := plane.Start(t.Context(), plane.Options{Executable: planetest.Binary(t), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	asking := client(t, config, discovery.NewDiscoveryClientForConfig)
	return cluster{
		t: t, core: client(t, config, corev1client.NewForConfig), batch: client(t, config, batchv1client.NewForConfig),
		access: client(t, config, authorizationv1client.NewForConfig), roles: client(t, config, rbacv1client.NewForConfig),
		dyn: client(t, config, dynamic.NewForConfig), mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asking)),
	}
}

func client[C any](t *testing.T, config *rest.Config, connect func(*rest.Config) (C, error)) C {
	t.Helper()
	c, err := connect(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c cluster) eventually(what string, check func() error) {
	c.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: still after %s: %v", what, patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c cluster) resource(o *unstructured.Unstructured) dynamic.ResourceInterface {
	c.t.Helper()
	var mapping *meta.RESTMapping
	c.eventually("the kind "+o.GetKind(), func() (err error) {
		gvk := o.GroupVersionKind()
		if mapping, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			c.mapper.Reset()
		}
		return err
	})
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dyn.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	return c.dyn.Resource(mapping.Resource)
}

// apply is strict: a field that the API does not know is refused.
func (c cluster) apply(dry bool, objects ...*unstructured.Unstructured) {
	c.t.Helper()
	options := metav1.PatchOptions{FieldManager: "somebody", FieldValidation: metav1.FieldValidationStrict}
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	for _, o := range objects {
		text, err := o.MarshalJSON()
		if err != nil {
			c.t.Fatal(err)
		}
		if _, err := c.resource(o).Patch(c.t.Context(), o.GetName(), "application/apply-patch+yaml", text, options); err != nil {
			c.t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

func parse(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(text, "---\n") {
		u := &unstructured.Unstructured{}
		j, err := yaml.YAMLToJSON([]byte(document))
		if err == nil {
			err = u.UnmarshalJSON(j)
		}
		if err != nil {
			t.Fatalf("%v in %s", err, document)
		}
		out = append(out, u)
	}
	return out
}

// The namespace admits restricted pods alone.
const platform = `apiVersion: v1
kind: Namespace
metadata: {name: ameide, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: Namespace
metadata: {name: pki}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: doors.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Door, plural: doors, singular: door, listKind: DoorList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: ameide}
stringData: {user: canary-user, password: canary-password}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: ameide}
stringData: {password: canary-password}
---
apiVersion: v1
kind: Secret
metadata: {name: root, namespace: pki}
stringData: {ca.crt: canary-password}
---
apiVersion: example.com/v1
kind: Door
metadata: {name: front, namespace: ameide}`

func doorSmoke(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	crds := map[string][]manifest.Object{}
	for _, o := range parse(t, platform) {
		crds["platform"] = append(crds["platform"], manifest.Object{Unstructured: o})
	}
	return objects(t, smokejob.Input{
		Name: "doors", Namespace: "ameide", Image: "registry.example.com/ladder:1", Timeout: 2 * time.Minute, Kinds: smokejob.NewKinds(crds),
		Checks: []model.Check{
			{Kind: model.CheckCondition, Group: "example.com", ObjectKind: "Door", Namespace: "ameide", Name: "front", Conditions: map[string]string{"Programmed": "True"}},
			{Kind: model.CheckSecret, ObjectKind: "Secret", Namespace: "ameide", Name: "db", Keys: []string{"user", "password"}},
			{Kind: model.CheckSecret, ObjectKind: "Secret", Namespace: "pki", Name: "root"},
			{Kind: model.CheckCEL, ObjectKind: "Namespace", Namespace: "ameide", Name: "pki", Expression: `object.status.phase == "Active"`},
			{Kind: model.CheckCEL, Group: "apps", ObjectKind: "Deployment", Namespace: "ameide", Expression: "size(objects) == 0"},
		},
	})
}

// On a plane the pod of a smoke Job does what it would do in a cluster, whoever
// applied the Job: it reads its own file of checks with its own rights.
func TestJobOnAPlane(t *testing.T) {
	c := start(t)
	all := parse(t, platform)
	c.apply(false, all...)
	smoke := doorSmoke(t)
	c.apply(false, smoke...)

	message := ""
	c.eventually("the pod fails while the door is not Programmed", func() error {
		if done(t, c) {
			t.Fatal("the Job completes although the door is not Programmed")
		}
		pods, err := c.core.Pods("ameide").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			for _, s := range pod.Status.ContainerStatuses {
				if s.State.Terminated != nil {
					message = s.State.Terminated.Message
					return nil
				}
			}
		}
		return fmt.Errorf("of %d pods none has ended", len(pods.Items))
	})
	if want := "condition Door ameide/front: has no condition Programmed yet"; message != want {
		t.Errorf("the pod says %q, want %q", message, want)
	}

	door := all[len(all)-1].DeepCopy()
	if err := unstructured.SetNestedSlice(door.Object, []any{map[string]any{"type": "Programmed", "status": "True"}}, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	live, err := c.resource(door).Get(t.Context(), "front", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	door.SetResourceVersion(live.GetResourceVersion())
	if _, err := c.resource(door).UpdateStatus(t.Context(), door, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the Job completes", func() error {
		if done(t, c) {
			return nil
		}
		return fmt.Errorf("not yet")
	})
	c.rights()
	c.withoutRights(smoke)
}

func done(t *testing.T, c cluster) bool {
	t.Helper()
	job, err := c.batch.Jobs("ameide").Get(t.Context(), "doors", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, condition := range job.Status.Conditions {
		if condition.Type == batchv1.JobComplete && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// rights asks the API server what the ServiceAccount may do.
func (c cluster) rights() {
	c.t.Helper()
	for _, test := range []struct {
		verb, group, resource, namespace, name string
		want                                   bool
	}{
		{"get", "", "secrets", "ameide", "db", true},
		{"get", "", "secrets", "pki", "root", true},
		{"get", "example.com", "doors", "ameide", "front", true},
		{"get", "", "namespaces", "", "pki", true},
		{"list", "apps", "deployments", "ameide", "", true},
		{"get", "", "secrets", "ameide", "other", false},
		{"list", "", "secrets", "ameide", "", false},
		{"watch", "", "secrets", "ameide", "db", false},
		{"update", "", "secrets", "ameide", "db", false},
		{"get", "", "secrets", "pki", "db", false},
		{"get", "example.com", "doors", "ameide", "back", false},
		{"update", "example.com", "doors", "ameide", "front", false},
		{"get", "", "namespaces", "", "ameide", false},
		{"list", "", "namespaces", "", "", false},
		{"list", "apps", "deployments", "pki", "", false},
		{"get", "", "configmaps", "ameide", "doors", false},
		{"create", "", "pods", "ameide", "", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:ameide:doors", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ameide", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: test.verb, Group: test.group, Resource: test.resource, Namespace: test.namespace, Name: test.name},
		}}
		answer, err := c.access.SubjectAccessReviews().Create(c.t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		if answer.Status.Allowed != test.want {
			c.t.Errorf("%s %s %s/%s: allowed is %v", test.verb, test.resource, test.namespace, test.name, answer.Status.Allowed)
		}
	}
}

// withoutRights runs the same Job without one of its Roles.
func (c cluster) withoutRights(smoke []*unstructured.Unstructured) {
	c.t.Helper()
	background := metav1.DeletePropagationBackground
	if err := c.batch.Jobs("ameide").Delete(c.t.Context(), "doors", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		c.t.Fatal(err)
	}
	if err := c.roles.Roles("pki").Delete(c.t.Context(), "doors", metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
	job := smoke[len(smoke)-1].DeepCopy()
	job.SetName("again")
	c.apply(false, job)
	c.eventually("the pod says what it may not do", func() error {
		pods, err := c.core.Pods("ameide").List(c.t.Context(), metav1.ListOptions{LabelSelector: "job-name=again"})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			for _, s := range pod.Status.ContainerStatuses {
				if s.State.Terminated == nil {
					continue
				}
				if m := s.State.Terminated.Message; !strings.Contains(m, `secrets "root" is forbidden`) || strings.Contains(m, "canary") {
					c.t.Errorf("the pod says %q", m)
				}
				return nil
			}
		}
		return fmt.Errorf("of %d pods none has ended", len(pods.Items))
	})
}

// What is generated is what the API of Kubernetes and of Argo CD knows.
func TestStrictDryRun(t *testing.T) {
	dir := os.Getenv("LADDER_CRDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "..", "shared", "crds")
	}
	definition, err := os.ReadFile(filepath.Join(dir, "argo-cd", "appprojects.argoproj.io.yaml"))
	if err != nil {
		t.Skipf("LADDER_CRDS names no folder with Argo CD's CRDs: %v", err)
	}
	c := start(t)
	c.apply(false, parse(t, string(definition))...)
	c.apply(false, parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: argocd}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: ameide}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: vault}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: pki}}")...)
	c.apply(true, objects(t, input())...)

	result, err := project.Build(project.Input{
		Namespace: "argocd", Orphaned: true,
		Applications: []project.Application{{Name: "a", Project: "p", Sources: []string{"https://git.example.com/a.git"}, Destination: project.Destination{Server: "https://kubernetes.default.svc", Namespace: "a"}, CreateNamespace: true, Objects: []project.Object{{Kind: "Secret"}}}},
		Roles:        []project.Role{{Name: "r", Groups: []string{"g"}, Policies: []string{"sync"}}},
		SyncWindows:  []project.SyncWindow{{Window: project.Window{Kind: "deny", Schedule: "0 22 * * *", Duration: "1h", TimeZone: "Europe/Berlin", ManualSync: true, Description: "at night"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := result.YAML()
	if err != nil {
		t.Fatal(err)
	}
	c.apply(true, parse(t, string(text))...)

	s, err := settings.Build(t.Context(), settings.Input{Namespace: "argocd", Nested: true, ProgressiveSyncs: true, Exclusions: []settings.Exclusion{{Kinds: []string{"Lease"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, cm := range []settings.ConfigMap{s.Settings, s.Parameters} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&cm)
		if err != nil {
			t.Fatal(err)
		}
		c.apply(true, &unstructured.Unstructured{Object: content})
	}
	c.apply(true, parse(t, string(settings.Repositories("argocd", []settings.Repository{{URL: "https://git.example.com/a.git"}, {URL: "git@git.example.com:a.git"}, {URL: "https://charts.example.com", Helm: true}})))...)
}
