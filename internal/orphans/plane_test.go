package orphans

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const limit = 90 * time.Second

var shared struct {
	once  sync.Once
	plane *plane.Plane
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.plane != nil {
		_ = shared.plane.Stop(context.Background())
	}
	os.Exit(code)
}

// fixture is a namespace of a plane, whose controllers run and whose pods do not.
type fixture struct {
	t      *testing.T
	config *rest.Config
	client dynamic.Interface
	ns     string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	binary := planetest.Binary(t)
	shared.once.Do(func() {
		shared.plane, shared.err = plane.Start(context.Background(), plane.Options{Executable: binary, World: []string{plane.EmptyWorld}, Timeout: limit})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	config, err := shared.plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &fixture{t: t, config: config, client: client, ns: strings.ToLower(t.Name())}
	s.make("kubectl-create", "apiVersion: v1\nkind: Namespace\nmetadata: {name: NS}")
	return s
}

func (s *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(s.t.Context(), limit)
	s.t.Cleanup(cancel)
	return ctx
}

// parse reads documents in which NS is the namespace of the test.
func (s *fixture) parse(text string) []manifest.Object {
	s.t.Helper()
	objects, err := manifest.Parse([]byte(strings.ReplaceAll(text, "NS", s.ns)))
	if err != nil {
		s.t.Fatal(err)
	}
	var out []manifest.Object
	for _, o := range objects {
		out = append(out, manifest.Object{Unstructured: o.Object, Target: s.ns})
	}
	return out
}

func (s *fixture) resource(o *unstructured.Unstructured) dynamic.ResourceInterface {
	gvk := o.GroupVersionKind()
	plural := map[string]string{"ClusterRole": "clusterroles", "Namespace": "namespaces", "CustomResourceDefinition": "customresourcedefinitions"}[gvk.Kind]
	if plural != "" {
		return s.client.Resource(gvk.GroupVersion().WithResource(plural))
	}
	plural = strings.ToLower(gvk.Kind) + "s"
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = s.ns
	}
	return s.client.Resource(gvk.GroupVersion().WithResource(plural)).Namespace(namespace)
}

// make creates objects as a field manager.
func (s *fixture) make(manager, text string) {
	s.t.Helper()
	for _, o := range s.parse(text) {
		for {
			_, err := s.resource(o.Unstructured).Create(s.context(), o.Unstructured, metav1.CreateOptions{FieldManager: manager})
			if err == nil {
				break
			}
			// A kind is served a moment after its definition.
			if !apierrors.IsNotFound(err) || s.context().Err() != nil {
				s.t.Fatalf("create %s: %v", o.Resource().Human(), err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (s *fixture) find(config *rest.Config, l Ladder) (*Cluster, Report) {
	s.t.Helper()
	c, err := NewCluster("test", config)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := c.Find(s.context(), l)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, r
}

// settle waits until the controllers have made what they make in a namespace.
func (s *fixture) settle() {
	s.t.Helper()
	for _, want := range []struct{ resource, name string }{{"serviceaccounts", "default"}, {"configmaps", "kube-root-ca.crt"}} {
		for {
			_, err := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: want.resource}).Namespace(s.ns).Get(s.context(), want.name, metav1.GetOptions{})
			if err == nil {
				break
			}
			if s.context().Err() != nil {
				s.t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (s *fixture) ladder(rendered, disabled string) Ladder {
	return Ladder{
		Environment: "dev", Rollout: "shop/dev",
		Components: []model.Component{
			{Name: "web", Enabled: true, Namespace: s.ns, Sources: []model.Source{{Kind: model.Chart, Path: "charts/web"}}},
			{Name: "cache", Namespace: s.ns, Sources: []model.Source{{Kind: model.Manifests, Path: "cache"}}},
		},
		Objects:  map[string][]manifest.Object{"web": s.parse(rendered)},
		Disabled: func(string) []manifest.Object { return s.parse(disabled) },
	}
}

const rendered = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NS}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: moved, namespace: NS-other}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: migrate-, namespace: NS}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: NS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-reader}
`

// helmLike are two releases, one of which is not installed any more, and objects of
// a third that a component took over.
const helmLike = `
apiVersion: v1
kind: Secret
metadata: {name: sh.helm.release.v1.redis.v1, labels: {owner: helm, name: redis, status: deployed, version: "1"}}
type: helm.sh/release.v1
data: {release: c2VjcmV0LWNhbmFyeQ==}
---
apiVersion: v1
kind: Service
metadata:
  name: redis
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: redis, meta.helm.sh/release-namespace: NS}
spec: {ports: [{port: 6379}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: mysql, annotations: {meta.helm.sh/release-name: mysql, meta.helm.sh/release-namespace: NS}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web-extra, annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: NS}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-mysql, annotations: {meta.helm.sh/release-name: mysql, meta.helm.sh/release-namespace: NS}}
`

const applied = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {ladder.rollout-ladder.dev/component: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: old, annotations: {ladder.rollout-ladder.dev/component: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: left, annotations: {ladder.rollout-ladder.dev/component: vanished-NS}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-both, annotations: {ladder.rollout-ladder.dev/component: both-NS}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: strange, annotations: {ladder.rollout-ladder.dev/component: stranger-NS}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {ladder.rollout-ladder.dev/component: web}}
spec:
  serviceName: db
  replicas: 0
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: db}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate-x7k2p}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}}
`

const byHand = `
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: moved}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cached}
data: {a: b}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: lonely}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS-stranger}
`

const claimOfDB = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
`

const byArgoCD = `
apiVersion: v1
kind: ConfigMap
metadata: {name: tracked, annotations: {argocd.argoproj.io/tracking-id: "web:/ConfigMap:NS/tracked"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-gone, annotations: {argocd.argoproj.io/tracking-id: "gone:/ConfigMap:NS/of-gone"}}
`

func TestOriginsOnAPlane(t *testing.T) {
	s := newFixture(t)
	s.make("ladder", applied)
	s.make("ladder", `
apiVersion: v1
kind: Namespace
metadata: {name: ladder-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inventory-NS, namespace: ladder-system, labels: {ladder.rollout-ladder.dev/inventory: "true"}}
data: {inventory.json: '{"formatVersion":"1","component":"vanished-NS","scope":"shop/dev"}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inventory-2-NS, namespace: ladder-system, labels: {ladder.rollout-ladder.dev/inventory: "true"}}
data: {inventory.json: '{"formatVersion":"1","component":"both-NS","scope":"shop/dev"}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inventory-3-NS, namespace: ladder-system, labels: {ladder.rollout-ladder.dev/inventory: "true"}}
data: {inventory.json: '{"formatVersion":"1","component":"both-NS","scope":"other/dev"}'}
`)
	s.make("helm", helmLike)
	s.make("kubectl-create", byHand)
	s.make("argocd-controller", byArgoCD)
	s.make("kube-controller-manager", claimOfDB)
	s.make("my-script", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: scripted}\ndata: {a: b}")
	s.make("redis-operator", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-operator}\ndata: {a: b}")
	s.make("manager", "apiVersion: v1\nkind: Secret\nmetadata: {name: copy, annotations: {argocd.argoproj.io/tracking-id: \"web:example.com/Thing:NS/thing\"}}")
	owner, err := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(s.ns).Get(s.context(), "notes", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.make("kubectl-create", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: child, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: notes, uid: "+string(owner.GetUID())+"}]}")
	s.settle()

	_, r := s.find(s.config, s.ladder(rendered, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cached, namespace: NS}"))
	type advice struct {
		Action    Action
		Origin    string
		Component string
		Data      bool
	}
	got := map[string]advice{}
	for _, o := range r.Orphans {
		got[strings.ReplaceAll(o.Resource.Human(), s.ns, "NS")] = advice{o.Action, strings.ReplaceAll(o.Origin.String(), s.ns, "NS"), strings.ReplaceAll(o.Component, s.ns, "NS"), o.Data}
	}
	want := map[string]advice{
		"ConfigMap NS/old":                {Delete, "component web", "web", false},
		"ConfigMap NS/left":               {Delete, "component vanished-NS", "vanished-NS", false},
		"ConfigMap NS/strange":            {Look, "component stranger-NS", "stranger-NS", false},
		"ConfigMap NS/of-both":            {Look, "component both-NS", "both-NS", false},
		"Service NS/redis":                {Adopt, "Helm release redis", "", false},
		"ConfigMap NS/mysql":              {Delete, "Helm release mysql, which is gone", "", false},
		"ClusterRole NS-mysql":            {Delete, "Helm release mysql, which is gone", "", false},
		"ConfigMap NS/web-extra":          {Delete, "Helm release web, which is gone", "web", false},
		"ConfigMap NS/tracked":            {Delete, "Application web", "web", false},
		"ConfigMap NS/of-gone":            {Delete, "Application gone", "", false},
		"ConfigMap NS/notes":              {Look, "kubectl", "", false},
		"ConfigMap NS/moved":              {Look, "kubectl", "web", false},
		"ConfigMap NS/cached":             {Adopt, "kubectl", "cache", false},
		"PersistentVolumeClaim NS/lonely": {Look, "kubectl", "", true},
		"ConfigMap NS/scripted":           {Look, "my-script", "", false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
	if !r.Complete {
		t.Errorf("not complete: %v %v", r.Unreadable, r.Unrendered)
	}
	untied := finding.Resource{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: s.ns + "-stranger"}
	if !contains(r.Untied, untied) {
		t.Errorf("%v is not among what nothing ties to the ladder", untied)
	}
	for _, u := range r.Untied {
		if strings.HasPrefix(u.Name, "system:") || u.Name == "admin" {
			t.Errorf("%v is the cluster's own", u)
		}
	}
	if r.Ignored[byOperator] != 2 || r.Ignored[byRelease] != 1 || r.Children < 1 {
		t.Errorf("ignored = %v, children = %d", r.Ignored, r.Children)
	}
}

// TestLabelOfSettings: the namespaces of Argo CD say in which label it marks what it applies, and
// no ConfigMap of that name elsewhere does.
func TestLabelOfSettings(t *testing.T) {
	s := newFixture(t)
	s.make("kubectl-create", `
apiVersion: v1
kind: Namespace
metadata: {name: NS-argocd}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: NS-argocd}
data: {application.instanceLabelKey: argocd.argoproj.io/instance}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data: {application.instanceLabelKey: tier}
`)
	s.make("argocd-controller", `
apiVersion: v1
kind: ConfigMap
metadata: {name: marked, labels: {argocd.argoproj.io/instance: gone}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: of-others, labels: {tier: gone}}
`)
	s.settle()
	l := s.ladder(rendered, "")
	l.ArgoNamespaces = []string{s.ns + "-argocd"}
	_, r := s.find(s.config, l)
	got := map[string]string{}
	for _, o := range r.Orphans {
		if o.Resource.Namespace == s.ns {
			got[o.Resource.Name] = string(o.Action) + ", " + o.Origin.String()
		}
	}
	want := map[string]string{"argocd-cm": "look, kubectl", "marked": "delete, Application gone", "of-others": "look, argocd-controller"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}

func contains(all []finding.Resource, r finding.Resource) bool {
	for _, one := range all {
		if one == r {
			return true
		}
	}
	return false
}

// TestPartlyReadable: what a cluster does not let be read is named, and there is no
// "none".
func TestPartlyReadable(t *testing.T) {
	s := newFixture(t)
	s.make("kubectl-create", `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: limited-NS, apiGroup: rbac.authorization.k8s.io}]
`)
	s.settle()
	limited := rest.CopyConfig(s.config)
	limited.Impersonate = rest.ImpersonationConfig{UserName: "limited-" + s.ns}
	_, r := s.find(limited, s.ladder("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: NS}", ""))
	if r.Complete || len(r.Orphans) > 0 {
		t.Errorf("complete = %t, orphans = %v", r.Complete, r.Orphans)
	}
	hidden := map[string]bool{}
	for _, u := range r.Unreadable {
		hidden[u.Kind+" in "+strings.ReplaceAll(u.Namespace, s.ns, "NS")+": "+u.Reason] = true
	}
	if !hidden["Secret in NS: not allowed"] || hidden["ConfigMap in NS: not allowed"] {
		t.Errorf("unreadable = %v", r.Unreadable)
	}
	var b strings.Builder
	if err := Text(&b, r); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "could not be listed") || strings.Contains(text, "No orphans:  components") || strings.Contains(text, "render everything") {
		t.Errorf("text = %s", text)
	}

	// Unrendered components may own what is there.
	s.make("kubectl-create", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: whose}")
	l := s.ladder("", "")
	l.Unrendered, l.Objects = []string{"web"}, nil
	_, r = s.find(s.config, l)
	for _, o := range r.Orphans {
		if o.Action != Look || !strings.Contains(o.Reason, "it may belong to web") {
			t.Errorf("%s: %s, %s", o.Resource.Human(), o.Action, o.Reason)
		}
	}
	if r.Complete || len(r.Orphans) == 0 {
		t.Errorf("complete = %t, %d orphans", r.Complete, len(r.Orphans))
	}
}

const custom = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NS.example.com, annotations: {ladder.rollout-ladder.dev/component: web}}
spec:
  group: NS.example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

const customRest = `
apiVersion: NS.example.com/v1
kind: Thing
metadata: {name: one, annotations: {ladder.rollout-ladder.dev/component: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: last, annotations: {ladder.rollout-ladder.dev/component: web}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator, annotations: {ladder.rollout-ladder.dev/component: web}}
`

func TestRemoval(t *testing.T) {
	s := newFixture(t)
	s.make("ladder", custom)
	s.make("ladder", customRest)
	s.settle()
	// The ladder renders CRDs, of which this one is not among.
	l := s.ladder("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: others.example.org}", "")
	c, r := s.find(s.config, l)
	p := NewPlan(r, c.Server)

	chosen, stay := Choose(p, r, false)
	if len(stay) != 1 || stay[0].Resource.Kind != "CustomResourceDefinition" || !strings.Contains(stay[0].Reason, "--include-data") {
		t.Errorf("stay = %v", stay)
	}
	// What was made anew since is another object.
	other := p
	other.Objects = append([]Planned{}, p.Objects...)
	for i := range other.Objects {
		other.Objects[i].UID = "11111111-2222-3333-4444-555555555555"
	}
	if none, all := Choose(other, r, true); len(none) != 0 || len(all) != len(p.Objects) {
		t.Errorf("chosen = %v, stay = %v", none, all)
	}

	// A finalizer that nobody takes away: what comes after it stays.
	things := s.client.Resource(schema.GroupVersionResource{Group: s.ns + ".example.com", Version: "v1", Resource: "things"}).Namespace(s.ns)
	finalizer := func(text string) {
		t.Helper()
		if _, err := things.Patch(s.context(), "one", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":`+text+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	finalizer(`["example.com/wait"]`)
	var told []string
	removal := Removal{Timeout: 300 * time.Millisecond, Told: func(r finding.Resource) { told = append(told, r.Kind) }}
	var left *LeftError
	if err := c.Remove(s.context(), chosen, removal); !errors.As(err, &left) || len(left.Objects) != 1 || len(told) != 0 {
		t.Fatalf("error = %v, told = %v", err, told)
	}
	finalizer("null")
	removal.Timeout = limit
	if err := c.Remove(s.context(), chosen, removal); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Thing", "ConfigMap", "ServiceAccount"}, told); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}

	_, r = s.find(s.config, l)
	if chosen, _ = Choose(p, r, true); len(chosen) != 1 {
		t.Fatalf("chosen = %v", chosen)
	}
	if err := c.Remove(s.context(), chosen, removal); err != nil {
		t.Fatal(err)
	}
	if _, r = s.find(s.config, l); len(r.Orphans) != 0 || !r.Complete {
		t.Errorf("left: %v", r.Orphans)
	}
}
