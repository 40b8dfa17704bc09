package operator

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/simtime"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// bench is an engine on API servers in memory. The test takes the place of the
// loop: it says when an object is looked at, and what time it is.
type bench struct {
	t       *testing.T
	engine  *Engine
	clock   *simtime.Clock
	plain   *fake.Clientset
	dynamic *dynfake.FakeDynamicClient
}

const (
	group = "acme.example.com"
	space = "shop"
)

var (
	proxies     = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "proxies"}
	buckets     = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "buckets"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// newBench starts an engine with rules for Bucket, a custom resource.
func newBench(t *testing.T, rules string, config settings.Config) *bench {
	t.Helper()
	set := &rule.Set{}
	if err := set.Add("test.yaml", []byte("apiVersion: "+rule.APIVersion+"\n"+rules)); err != nil {
		t.Fatal(err)
	}
	return newBenchOf(t, set, config)
}

func newBenchOf(t *testing.T, set *rule.Set, config settings.Config) *bench {
	t.Helper()
	b := &bench{t: t, clock: simtime.New(0), plain: fake.NewClientset()}
	b.dynamic = dynfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		buckets: "BucketList", proxies: "ProxyList", secrets: "SecretList", deployments: "DeploymentList", definitionResource: "CustomResourceDefinitionList",
	})
	b.dynamic.PrependReactor("patch", "*", b.apply)
	config.Speed = 1
	clients := world.Clients{Plain: b.plain, Extensions: extfake.NewClientset(definitionOf("Bucket", buckets)), Dynamic: b.dynamic}
	w := world.NewFor(clients, b.clock, slog.New(slog.DiscardHandler), config)
	public, err := certificate.NewAuthority("Public", b.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	b.engine = New(t.Context(), w, world.NewWorkloads(w), set, public)
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		if k := b.engine.kinds.get(group + "/Bucket"); k == nil || k.informer == nil || !k.informer.HasSynced() {
			return fmt.Errorf("buckets are not followed")
		}
		return nil
	})
	return b
}

// definitionOf is the definition of a kind that is served.
func definitionOf(kind string, gvr schema.GroupVersionResource) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: gvr.Resource + "." + gvr.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gvr.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: gvr.Resource},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gvr.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

// apply does what an API server does on a server-side apply, without merging.
func (b *bench) apply(action clienttesting.Action) (bool, runtime.Object, error) {
	patch, ok := action.(clienttesting.PatchAction)
	if !ok || patch.GetPatchType() != types.ApplyPatchType {
		return false, nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(patch.GetPatch(), &u.Object); err != nil {
		return true, nil, err
	}
	tracker := b.dynamic.Tracker()
	err := tracker.Create(patch.GetResource(), u, patch.GetNamespace())
	if apierrors.IsAlreadyExists(err) {
		err = tracker.Update(patch.GetResource(), u, patch.GetNamespace())
	}
	return true, u, err
}

func (b *bench) eventually(check func() error) {
	b.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// bucket makes a custom resource and waits until the engine can see it.
func (b *bench) bucket(text string) {
	b.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		b.t.Fatal(err)
	}
	u.SetAPIVersion(group + "/v1")
	u.SetKind("Bucket")
	u.SetNamespace(space)
	u.SetUID(types.UID("uid-" + u.GetName()))
	u.SetGeneration(3)
	if _, err := b.dynamic.Resource(buckets).Namespace(space).Create(b.t.Context(), u, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.eventually(func() error {
		if b.engine.kinds.object(group+"/Bucket", space, u.GetName()) == nil {
			return fmt.Errorf("the engine does not see bucket %s", u.GetName())
		}
		return nil
	})
}

// workload makes a Deployment with so many ready pods, in the caches.
func (b *bench) workload(name string, ready int32) {
	b.t.Helper()
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space},
		Status:     appsv1.DeploymentStatus{ReadyReplicas: ready},
	}
	client := b.plain.AppsV1().Deployments(space)
	_, err := client.Create(b.t.Context(), d, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(b.t.Context(), d, metav1.UpdateOptions{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.eventually(func() error {
		seen := b.engine.world.Deployments.Get(space, name)
		found, _ := b.engine.workloads.Find("test"+name+fmt.Sprint(ready, time.Now().UnixNano()), []rule.Selector{{Name: name}})
		if seen == nil || seen.Status.ReadyReplicas != ready || found.Available != (ready > 0) {
			return fmt.Errorf("the engine does not see Deployment %s", name)
		}
		return nil
	})
}

// secret makes a Secret in the caches.
func (b *bench) secret(name string, keys ...string) {
	b.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space}, Data: map[string][]byte{}}
	for _, k := range keys {
		s.Data[k] = []byte("x")
	}
	client := b.plain.CoreV1().Secrets(space)
	_, err := client.Create(b.t.Context(), s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.Update(b.t.Context(), s, metav1.UpdateOptions{})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.eventually(func() error {
		if seen := b.engine.world.Secrets.Get(space, name); seen == nil || len(seen.Data) != len(keys) {
			return fmt.Errorf("the engine does not see Secret %s", name)
		}
		return nil
	})
}

// look lets the engine look at a bucket, and returns when it wants to again.
func (b *bench) look(name string) time.Duration {
	b.t.Helper()
	again, err := b.engine.sync(b.t.Context(), key(group+"/Bucket", space, name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.settle(name)
	return again
}

// settle waits until the engine sees a bucket as it is.
func (b *bench) settle(name string) {
	b.t.Helper()
	b.eventually(func() error {
		live, err := b.dynamic.Resource(buckets).Namespace(space).Get(b.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		seen := b.engine.kinds.object(group+"/Bucket", space, name)
		if seen == nil || fmt.Sprint(seen.Object["status"]) != fmt.Sprint(live.Object["status"]) {
			return fmt.Errorf("the engine sees an older bucket %s", name)
		}
		return nil
	})
}

// status is the reason of a bucket's condition Ready, with its status.
func (b *bench) status(name string) string {
	b.t.Helper()
	live, err := b.dynamic.Resource(buckets).Namespace(space).Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			return fmt.Sprintf("%s %v", c["status"], c["message"])
		}
	}
	return ""
}

// made reads a child; nil for none.
func (b *bench) made(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	b.t.Helper()
	u, err := b.dynamic.Resource(resource).Namespace(space).Get(b.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// step moves the simulated clock, which stands still otherwise.
func (b *bench) step(d time.Duration) { b.clock.Advance(b.clock.Now().Add(d)) }
