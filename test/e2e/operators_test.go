package e2e

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/simulate"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// sentinelRule is for a kind that needs no controller: once it has a status, the
// world has seen everything that was there before it.
const sentinelRule = `
apiVersion: simulation.rollout-ladder.dev/v1
operators:
  - for: test.example.com/Sentinel
    status: {ready: {seen: true}}
`

// TestOperatorRules plays every embedded rule on a plane, one operator after the
// other: while it is down nothing happens to its custom resources; once it is
// Available they get their children, and Argo CD's health of them is Healthy.
// Ladder's own short kinds stand in for those whose definition is not at hand.
func TestOperatorRules(t *testing.T) {
	t.Parallel()
	crds := someDefinitions(t)
	w := startWorld(t)
	w.must(`{apiVersion: v1, kind: Namespace, metadata: {name: ` + settings.Namespace + `}}`)
	config, err := settings.Config{Speed: 1000, Rules: []settings.Rules{{Name: "sentinel", Text: sentinelRule}}}.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().ConfigMaps(settings.Namespace).Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.must(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-path, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
`)
	w.workload("local-path-storage", "local-path-provisioner")
	sentinel := shortCRD(schema.GroupKind{Group: "test.example.com", Kind: "Sentinel"}, "sentinels")
	install(t, w.dyn, sentinel)
	assessor := health.New()
	var played []unstructured.Unstructured
	cases := 0 // that ran: somebody may have asked for some of them only
	for _, c := range operated {
		ok := t.Run(c.name, func(t *testing.T) {
			w.t = t
			p := &playing{world: w, operatedCase: c, crds: definitions{t, crds.files}, known: map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition{}, assessor: assessor}
			played = append(played, p.play()...)
			cases++
		})
		w.t = t
		if !ok && t.Context().Err() != nil {
			return
		}
	}
	if cases == len(operated) {
		wantEveryRule(t, played)
	}
}

// wantEveryRule fails for an embedded rule that none of the objects is for.
func wantEveryRule(t *testing.T, played []unstructured.Unstructured) {
	t.Helper()
	set, err := simulate.LoadRules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range set.Operators {
		is := func(u unstructured.Unstructured) bool {
			gvk := u.GroupVersionKind()
			if o.DefinedBy != "" {
				return gvk.Group == "made.example.com" // by the test's own definition
			}
			if !slices.Contains(o.For, gvk.Group+"/"+gvk.Kind) {
				return false
			}
			ok, err := o.WhenExpr.Holds(t.Context(), rule.Scope{"self": u.Object})
			return err == nil && ok
		}
		if !slices.ContainsFunc(played, is) {
			t.Errorf("%s: no object is for the rule of %v %s", o.Source, o.For, o.When)
		}
	}
}

// clusterScoped are the kinds whose short definitions have no namespace.
var clusterScoped = []string{
	"ClusterExternalSecret", "ClusterIssuer", "ClusterPolicy", "ClusterSecretStore", "CompositeResourceDefinition",
	"Composition", "Configuration", "Function", "GatewayClass", "Provider",
}

// shortCRD is a definition that accepts anything, with a status.
func shortCRD(gk schema.GroupKind, plural string) *apiextensionsv1.CustomResourceDefinition {
	open := true
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{
			Name: plural + "." + gk.Group,
			// Groups of Kubernetes itself ask for it.
			Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for a test"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gk.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: gk.Kind, Plural: plural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}},
			}},
		},
	}
}

// playing is one operator and what it is for, in a namespace of its own.
type playing struct {
	world
	operatedCase
	crds      definitions
	known     map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition
	installed []string
	assessor  *health.Assessor
}

func (p *playing) play() []unstructured.Unstructured {
	p.t.Helper()
	p.must("{apiVersion: v1, kind: Namespace, metadata: {name: " + p.name + "}}")
	p.applyAll(p.parse(p.needs))
	objects := p.parse(p.objects)
	p.define(objects)
	p.applyAll(objects)
	before := map[string]any{}
	for _, u := range objects {
		before[id(u)] = p.get(u.GroupVersionKind(), u.GetNamespace(), u.GetName()).Object["status"]
	}
	p.awaitSentinel()
	for _, u := range objects {
		now := p.get(u.GroupVersionKind(), u.GetNamespace(), u.GetName()).Object["status"]
		if diff := cmp.Diff(before[id(u)], now); diff != "" {
			p.t.Errorf("%s has a status though its operator is down (-at first +now):\n%s", id(u), diff)
		}
	}
	for _, child := range p.children {
		if p.child(child) != nil {
			p.t.Errorf("%s is there though its operator is down", child)
		}
	}

	p.operators()
	for _, u := range objects {
		p.becomesHealthy(u, before[id(u)])
	}
	p.haveChildren(p.children)
	if p.then != "" {
		later := p.parse(p.then)
		eventually(p.t, func() error { p.mapper.Reset(); return p.try(later) })
		for _, u := range later {
			p.becomesHealthy(u, nil)
		}
		p.haveChildren(p.thenChildren)
		objects = append(objects, later...)
	}
	p.leave()
	return objects
}

func (p *playing) haveChildren(children []string) {
	p.t.Helper()
	for _, child := range children {
		eventually(p.t, func() error {
			if p.child(child) == nil {
				return fmt.Errorf("there is no %s", child)
			}
			return nil
		})
	}
}

// becomesHealthy waits until a custom resource has the status of its rule, and
// Argo CD's health of it is Healthy.
func (p *playing) becomesHealthy(u unstructured.Unstructured, before any) {
	p.t.Helper()
	if slices.Contains(p.silent, u.GetKind()) {
		return
	}
	eventually(p.t, func() error {
		live := p.get(u.GroupVersionKind(), u.GetNamespace(), u.GetName())
		if status := live.Object["status"]; status == nil || cmp.Equal(before, status) {
			return fmt.Errorf("%s has the status %v", id(u), status)
		}
		if s := p.assessor.Assess(p.t.Context(), live); s.Health != rollout.Healthy {
			return fmt.Errorf("%s is %s: %s", id(u), s.Health, s.Message)
		}
		return nil
	})
}

// parse reads documents. An apiVersion without a version is that of the group's
// definition; what has no namespace is in the one of the case.
func (p *playing) parse(text string) []unstructured.Unstructured {
	p.t.Helper()
	var found []unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			p.t.Fatalf("%v in\n%s", err, text)
		}
		cluster := false
		if group, version, _ := strings.Cut(u.GetAPIVersion(), "/"); strings.Contains(group, ".") && group != "networking.k8s.io" {
			crd := p.definition(schema.GroupKind{Group: group, Kind: u.GetKind()}, version)
			cluster = crd.Spec.Scope == apiextensionsv1.ClusterScoped
			for _, v := range crd.Spec.Versions {
				if v.Storage && version == "" {
					u.SetAPIVersion(group + "/" + v.Name)
				}
			}
		}
		if u.GetNamespace() == "" && !cluster {
			u.SetNamespace(p.name)
		}
		found = append(found, u)
	}
}

// definition is the real one of a kind, else a short one, of a version.
func (p *playing) definition(gk schema.GroupKind, version string) *apiextensionsv1.CustomResourceDefinition {
	if crd := p.known[gk]; crd != nil {
		return crd
	}
	crd := p.crds.of(gk)
	if crd == nil {
		plural := strings.ToLower(gk.Kind) + "s"
		if strings.HasSuffix(gk.Kind, "s") {
			plural = strings.ToLower(gk.Kind) + "es"
		}
		crd = shortCRD(gk, plural)
		if version != "" {
			crd.Spec.Versions[0].Name = version
		}
		if slices.Contains(clusterScoped, gk.Kind) {
			crd.Spec.Scope = apiextensionsv1.ClusterScoped
		}
	}
	p.known[gk] = crd
	return crd
}

// define installs the definitions of the objects.
func (p *playing) define(objects []unstructured.Unstructured) {
	p.t.Helper()
	for _, extra := range p.also {
		objects = append(objects, unstructured.Unstructured{Object: map[string]any{"apiVersion": extra.Group + "/v1", "kind": extra.Kind}})
	}
	var fresh []*apiextensionsv1.CustomResourceDefinition
	for _, u := range objects {
		gk := u.GroupVersionKind().GroupKind()
		if !strings.Contains(gk.Group, ".") || gk.Group == "networking.k8s.io" {
			continue
		}
		crd := p.definition(gk, "")
		if !slices.Contains(p.installed, crd.Name) {
			p.installed = append(p.installed, crd.Name)
			fresh = append(fresh, crd)
		}
	}
	install(p.t, p.dyn, fresh...)
}

// leave takes the definitions away: schemas are what fills the memory of an API
// server.
func (p *playing) leave() {
	p.t.Helper()
	resource := p.dyn.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	for _, name := range p.installed {
		if err := resource.Delete(p.t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			p.t.Errorf("delete %s: %v", name, err)
		}
	}
}

func (p *playing) applyAll(objects []unstructured.Unstructured) {
	p.t.Helper()
	eventually(p.t, func() error { return p.try(objects) })
}

func (p *playing) try(objects []unstructured.Unstructured) error {
	for _, u := range objects {
		text, err := sigsyaml.Marshal(u.Object)
		if err != nil {
			return err
		}
		if err := p.apply(string(text)); err != nil {
			return err
		}
	}
	return nil
}

// operators makes the workloads of the operators, and waits for them to be
// Available through what they do.
func (p *playing) operators() {
	p.t.Helper()
	for _, o := range p.operator {
		name, label, _ := strings.Cut(o, " ")
		key, value, labelled := strings.Cut(label, "=")
		if !labelled {
			key, value = "operator", name
		}
		p.must(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  selector: {matchLabels: {%[3]s: %[4]s}}
  template:
    metadata: {labels: {%[3]s: %[4]s}}
    spec: {containers: [{name: c, image: x, args: [%[5]s]}]}
`, name, p.name, key, value, strings.Join(p.args, ", ")))
	}
}

func (p *playing) awaitSentinel() {
	p.t.Helper()
	p.must("{apiVersion: test.example.com/v1, kind: Sentinel, metadata: {name: sentinel, namespace: " + p.name + "}}")
	eventually(p.t, func() error {
		u := p.get(schema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "Sentinel"}, p.name, "sentinel")
		if seen, _, _ := unstructured.NestedBool(u.Object, "status", "seen"); !seen {
			return errors.New("the sentinel is not seen")
		}
		return nil
	})
}

func id(u unstructured.Unstructured) string { return u.GetKind() + "/" + u.GetName() }

// get reads an object that must be there.
func (p *playing) get(gvk schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	p.t.Helper()
	u, err := p.look(gvk, namespace, name)
	if err != nil {
		p.t.Fatalf("read %s %s: %v", gvk.Kind, name, err)
	}
	return u
}

func (p *playing) look(gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	mapping, err := p.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	var client dynamic.ResourceInterface = p.dyn.Resource(mapping.Resource)
	if namespace != "" {
		client = p.dyn.Resource(mapping.Resource).Namespace(namespace)
	}
	return client.Get(p.t.Context(), name, metav1.GetOptions{})
}

// child looks up "Kind/name" in the namespace of the case; nil where it is not
// there.
func (p *playing) child(child string) *unstructured.Unstructured {
	p.t.Helper()
	kind, name, _ := strings.Cut(child, "/")
	groups := map[string]string{"Deployment": "apps", "StatefulSet": "apps", "Job": "batch", "Certificate": "cert-manager.io", "ExternalSecret": "external-secrets.io"}
	u, err := p.look(schema.GroupVersionKind{Group: groups[kind], Version: "v1", Kind: kind}, p.name, name)
	if err != nil && !apierrors.IsNotFound(err) {
		p.t.Fatalf("read %s: %v", child, err)
	}
	if err != nil {
		return nil
	}
	return u
}
