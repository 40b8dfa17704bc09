package operator

import (
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

func TestCertificateRequest(t *testing.T) {
	spec := map[string]any{
		"commonName": "web", "dnsNames": []any{"web.example.com", 7}, "isCA": true, "duration": "48h",
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(384)},
		"subject":    map[string]any{"organizations": []any{"Acme"}}, "usages": []any{"server auth", "client auth"},
		"ipAddresses": []any{"10.0.0.1", "no address"}, "uris": []any{"spiffe://acme/web", "::no uri"},
		"emailAddresses": []any{"a@example.com"},
	}
	want := certificate.Request{
		CommonName: "web", Organizations: []string{"Acme"}, DNSNames: []string{"web.example.com"},
		EmailAddresses: []string{"a@example.com"}, Algorithm: "ECDSA", Size: 384, IsCA: true, Life: 48 * time.Hour, ClientAuth: true,
		Addresses: []net.IP{net.ParseIP("10.0.0.1")}, URIs: []*url.URL{{Scheme: "spiffe", Host: "acme", Path: "/web"}},
	}
	if diff := cmp.Diff(want, requestOf(spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(certificate.Request{}, requestOf(map[string]any{"duration": "soon", "privateKey": "text"})); diff != "" {
		t.Errorf("a spec that says nothing (-want +got):\n%s", diff)
	}
}

// TestSelfSignedCertificate issues a certificate that has no authority.
func TestSelfSignedCertificate(t *testing.T) {
	b := newBench(t, `
operators:
  - for: acme.example.com/Bucket
    requires: [{name: issuer, each: "['self']", kind: ConfigMap, object: "${item}", soft: true}]
    maker: certificate
    status: {ready: {conditions: [{type: Ready, status: "True", message: issued}]}}
`, settings.Config{})
	b.bucket("{metadata: {name: one}, spec: {secretName: one-tls, commonName: one, dnsNames: [one.example.com], isCA: true}}")
	b.look("one")
	if got := b.status("one"); got != "True issued" {
		t.Fatalf("the status is %q", got)
	}
	made := b.made(secrets, "one-tls")
	if made == nil {
		t.Fatal("there is no Secret")
	}
	certificateOf := func(u *unstructured.Unstructured) *x509.Certificate {
		t.Helper()
		data, _, _ := unstructured.NestedString(u.Object, "data", "tls.crt")
		text, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := certificate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return chain[0]
	}
	if c := certificateOf(made); c.Subject.CommonName != "one" || !c.IsCA || c.VerifyHostname("one.example.com") != nil {
		t.Errorf("issued for %s, names %v", c.Subject, c.DNSNames)
	}
	if kind, _, _ := unstructured.NestedString(made.Object, "type"); kind != "kubernetes.io/tls" {
		t.Errorf("the Secret is of type %q", kind)
	}
}

func TestDefinitionOfAComposite(t *testing.T) {
	spec := map[string]any{
		"group": "acme.example.com", "names": map[string]any{"kind": "XShop", "plural": "xshops"},
		"versions": []any{
			map[string]any{"name": "v1", "served": true, "referenceable": true},
			map[string]any{"name": "v1beta1", "served": false, "referenceable": false},
			"not a version",
		},
	}
	names, _ := spec["names"].(map[string]any)
	got := xrdDefinition(spec, names, "composite", true)
	if got.GetName() != "xshops.acme.example.com" {
		t.Errorf("its name is %s", got.GetName())
	}
	made, _, _ := unstructured.NestedMap(got.Object, "spec", "names")
	want := map[string]any{"kind": "XShop", "plural": "xshops", "singular": "xshop", "listKind": "XShopList", "categories": []any{"composite"}}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if _, changed := names["singular"]; changed {
		t.Error("the names of the object itself were changed")
	}
	if scope, _, _ := unstructured.NestedString(got.Object, "spec", "scope"); scope != "Namespaced" {
		t.Errorf("its scope is %s", scope)
	}
	versions, _, _ := unstructured.NestedSlice(got.Object, "spec", "versions")
	if len(versions) != 2 || versions[0].(map[string]any)["storage"] != true || versions[1].(map[string]any)["served"] != false {
		t.Errorf("its versions are %v", versions)
	}
}

func TestKindOfADefinition(t *testing.T) {
	yes := true
	served := func(change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
		crd := &apiextensionsv1.CustomResourceDefinition{
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "acme.example.com", Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Shop", Plural: "shops"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
					{Name: "v2", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}},
					{Name: "v1", Served: true, Storage: true},
				},
			},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}},
		}
		if change != nil {
			change(crd)
		}
		return crd
	}
	plain := &kind{
		id: "acme.example.com/Shop", version: "v1", namespaced: true,
		gvr: schema.GroupVersionResource{Group: "acme.example.com", Version: "v1", Resource: "shops"},
	}
	owned, cluster, newer := *plain, *plain, *plain
	owned.definedBy = "apiextensions.crossplane.io/CompositeResourceDefinition"
	cluster.namespaced = false
	newer.version, newer.gvr.Version, newer.hasStatus = "v2", "v2", true
	cases := map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   *kind
	}{
		"the stored version": {nil, plain},
		"cluster-wide":       {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Scope = apiextensionsv1.ClusterScoped }, &cluster},
		"the stored version is not served": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions[1].Served = false
		}, &newer},
		"nothing is served": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions[0].Served, c.Spec.Versions[1].Served = false, false
		}, nil},
		"not established yet": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Status.Conditions[0].Status = apiextensionsv1.ConditionFalse
		}, nil},
		"being deleted": {func(c *apiextensionsv1.CustomResourceDefinition) { c.DeletionTimestamp = &metav1.Time{} }, nil},
		"owned": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apiextensions.crossplane.io/v2", Kind: "CompositeResourceDefinition", Controller: &yes}}
		}, &owned},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := newKind(served(tc.change))
			if (got == nil) != (tc.want == nil) {
				t.Fatalf("got %+v, want %+v", got, tc.want)
			}
			if got != nil && (!got.same(tc.want) || got.id != tc.want.id || got.version != tc.want.version) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
