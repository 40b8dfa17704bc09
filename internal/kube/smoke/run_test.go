package smoke_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
)

// cluster is a Client on a list of objects.
type cluster []*unstructured.Unstructured

func (c cluster) Get(_ context.Context, gk schema.GroupKind, namespace, name string) (*unstructured.Unstructured, error) {
	for _, o := range c {
		if o.GroupVersionKind().GroupKind() == gk && o.GetNamespace() == namespace && o.GetName() == name {
			return o, nil
		}
	}
	return nil, &smoke.NotFoundError{What: gk.Kind + " " + name}
}

func (c cluster) List(_ context.Context, gk schema.GroupKind, namespace string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, o := range c {
		if o.GroupVersionKind().GroupKind() == gk && (namespace == "" || o.GetNamespace() == namespace) {
			out = append(out, o)
		}
	}
	return out, nil
}

func parse(t *testing.T, text string) cluster {
	t.Helper()
	var out cluster
	for _, doc := range strings.Split(text, "\n---\n") {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, &u)
	}
	return out
}

const canary = "canary-hunter2"

const objects = `
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: a, generation: 2}, status: {conditions: [{type: Accepted, status: "True", observedGeneration: 2}, {type: Programmed, status: "False", reason: NoAddress, message: none yet}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: a}, spec: {hostnames: ["*.example.com"], rules: [{backendRefs: [{name: web}]}]}, status: {parents: [{conditions: [{type: Accepted, status: "True"}]}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: a}, data: {password: Y2FuYXJ5LWh1bnRlcjI=, empty: ""}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: done, namespace: a}, status: {conditions: [{type: Complete, status: "True"}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: failed, namespace: a}, status: {conditions: [{type: Failed, status: "True", message: limit}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: running, namespace: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: a}}
---
{apiVersion: v1, kind: Service, metadata: {name: idle, namespace: a}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: web-1, namespace: a, labels: {kubernetes.io/service-name: web}}, endpoints: [{conditions: {ready: true}}, {conditions: {ready: false}}]}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: idle-1, namespace: a, labels: {kubernetes.io/service-name: idle}}, endpoints: [{conditions: {ready: false}}]}
`

func TestChecks(t *testing.T) {
	for name, tc := range map[string]struct {
		check   model.Check
		ok      bool
		message string
	}{
		"condition": {model.Check{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "Gateway", Namespace: "a", Name: "gw", Conditions: map[string]string{"Accepted": "True"}}, true, ""},
		"condition not met": {model.Check{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "Gateway", Namespace: "a", Name: "gw", Conditions: map[string]string{"Accepted": "True", "Programmed": "True"}},
			false, "condition Programmed is False, not True: NoAddress: none yet"},
		"condition not there": {model.Check{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "Gateway", Namespace: "a", Name: "gw", Conditions: map[string]string{"Ready": "True"}}, false, "no condition Ready"},
		"condition of route":  {model.Check{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "HTTPRoute", Namespace: "a", Name: "web", Conditions: map[string]string{"Accepted": "True"}}, true, ""},
		"object not there":    {model.Check{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "Gateway", Namespace: "a", Name: "other", Conditions: map[string]string{"Accepted": "True"}}, false, "Gateway other does not exist"},
		"secret":              {model.Check{Kind: model.CheckSecret, Namespace: "a", Name: "s", Keys: []string{"password"}}, true, ""},
		"secret empty key":    {model.Check{Kind: model.CheckSecret, Namespace: "a", Name: "s", Keys: []string{"password", "empty"}}, false, "key empty is empty"},
		"secret missing key":  {model.Check{Kind: model.CheckSecret, Namespace: "a", Name: "s", Keys: []string{"user"}}, false, "no key user"},
		"secret missing":      {model.Check{Kind: model.CheckSecret, Namespace: "a", Name: "t"}, false, "Secret t does not exist"},
		"certificate of junk": {model.Check{Kind: model.CheckCertificate, Namespace: "a", Name: "s"}, false, "tls.crt is missing"},
		"job":                 {model.Check{Kind: model.CheckJob, Namespace: "a", Name: "done"}, true, ""},
		"job failed":          {model.Check{Kind: model.CheckJob, Namespace: "a", Name: "failed"}, false, "limit"},
		"job running":         {model.Check{Kind: model.CheckJob, Namespace: "a", Name: "running"}, false, "not completed"},
		"endpoint":            {model.Check{Kind: model.CheckEndpoint, Namespace: "a", Name: "web"}, true, "1 ready"},
		"endpoint none":       {model.Check{Kind: model.CheckEndpoint, Namespace: "a", Name: "idle"}, false, "no ready endpoint"},
		"http":                {model.Check{Kind: model.CheckHTTP, URL: "http://web.a.svc.cluster.local:8080/healthz"}, true, ""},
		"http idle":           {model.Check{Kind: model.CheckHTTP, URL: "http://idle.a:8080/"}, false, "no ready endpoint"},
		"http own namespace":  {model.Check{Kind: model.CheckHTTP, Namespace: "a", URL: "http://web/"}, true, ""},
		"http public":         {model.Check{Kind: model.CheckHTTP, URL: "https://shop.example.com/"}, true, ""},
		"http nobody":         {model.Check{Kind: model.CheckHTTP, URL: "https://shop.example.org/"}, false, "nothing in the cluster serves"},
		"http not a url":      {model.Check{Kind: model.CheckHTTP, URL: "web"}, false, "not a URL"},
		"tcp":                 {model.Check{Kind: model.CheckTCP, Address: "web.a.svc:5432"}, true, ""},
		"tcp no port":         {model.Check{Kind: model.CheckTCP, Address: "web.a.svc"}, false, "host:port"},
		"cel object":          {model.Check{Kind: model.CheckCEL, Group: "batch", ObjectKind: "Job", Namespace: "a", Name: "done", Expression: `object.status.conditions.exists(c, c.type == "Complete")`}, true, ""},
		"cel objects":         {model.Check{Kind: model.CheckCEL, Group: "batch", ObjectKind: "Job", Namespace: "a", Expression: "objects.size() == 4"}, false, "does not hold"},
		"cel over a secret":   {model.Check{Kind: model.CheckCEL, ObjectKind: "Secret", Namespace: "a", Name: "s", Expression: "int(base64.decode(object.data.password)) == 1"}, false, ""},
		"cel broken":          {model.Check{Kind: model.CheckCEL, Group: "batch", ObjectKind: "Job", Namespace: "a", Name: "done", Expression: "object."}, false, "CEL"},
		"unknown":             {model.Check{Kind: "guess"}, false, `"guess"`},
	} {
		t.Run(name, func(t *testing.T) {
			results := smoke.Run(t.Context(), parse(t, objects), []model.Check{tc.check}, smoke.Options{Simulated: true})
			if len(results) != 1 {
				t.Fatalf("%d results", len(results))
			}
			got := results[0]
			if got.OK != tc.ok || !strings.Contains(got.Message, tc.message) {
				t.Errorf("got %v %q, want %v %q", got.OK, got.Message, tc.ok, tc.message)
			}
			if strings.Contains(got.Message, canary) || strings.Contains(got.Message, "Y2FuYXJ5") {
				t.Errorf("a secret shows: %s", got.Message)
			}
		})
	}
}

func TestRealHTTPAndTCP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for name, tc := range map[string]struct {
		check   model.Check
		ok      bool
		message string
	}{
		"status":       {model.Check{Kind: model.CheckHTTP, URL: server.URL, Status: http.StatusTeapot}, true, "418"},
		"other status": {model.Check{Kind: model.CheckHTTP, URL: server.URL}, false, "answers 418, not 200"},
		"timeout":      {model.Check{Kind: model.CheckHTTP, URL: server.URL + "/slow", Timeout: 50 * time.Millisecond}, false, "no answer within 50ms"},
		"tcp":          {model.Check{Kind: model.CheckTCP, Address: address}, true, ""},
		"tcp closed":   {model.Check{Kind: model.CheckTCP, Address: "127.0.0.1:1"}, false, "connections"},
	} {
		t.Run(name, func(t *testing.T) {
			got := smoke.Run(t.Context(), cluster{}, []model.Check{tc.check}, smoke.Options{})[0]
			if got.OK != tc.ok || !strings.Contains(got.Message, tc.message) {
				t.Errorf("got %v %q, want %v %q", got.OK, got.Message, tc.ok, tc.message)
			}
		})
	}
}

// issued is a certificate with its key.
type issued struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

var now = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

func issue(t *testing.T, name string, ca bool, from, to time.Time, by *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: from, NotAfter: to, IsCA: ca, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, DNSNames: []string{name},
	}
	out := &issued{key: key}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	if out.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return out
}

func (i *issued) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})
}

func tlsSecret(t *testing.T, namespace, name string, cert, key *issued, ca *issued) *unstructured.Unstructured {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key.key)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	data := map[string]any{
		"tls.crt": encode(cert.pem()), "tls.key": encode(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
	if ca != nil {
		data["ca.crt"] = encode(ca.pem())
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "data": data,
	}}
}

func TestCertificateChain(t *testing.T) {
	day := 24 * time.Hour
	from, to := now.Add(-day), now.Add(day)
	root := issue(t, "root", true, from, to, nil)
	middle := issue(t, "intermediate", true, from, to, root)
	server := issue(t, "server", false, from, to, middle)
	impostor := issue(t, "intermediate", true, from, to, root)
	old := issue(t, "server", false, from.Add(-2*day), from, middle)
	early := issue(t, "server", false, to, to.Add(day), middle)
	chain := cluster{
		tlsSecret(t, "pki", "root", root, root, nil), tlsSecret(t, "pki", "intermediate", middle, middle, nil),
		tlsSecret(t, "pki", "impostor", impostor, impostor, nil),
		tlsSecret(t, "a", "server", server, server, middle), tlsSecret(t, "a", "wrong-key", server, root, nil),
		tlsSecret(t, "a", "old", old, old, nil), tlsSecret(t, "a", "early", early, early, nil),
		tlsSecret(t, "a", "self", root, root, nil), tlsSecret(t, "a", "other-ca", server, server, root),
	}
	full := []string{"pki/intermediate", "pki/root"}
	for name, tc := range map[string]struct {
		secret, subject string
		issuedBy        []string
		ok              bool
		message         string
	}{
		"whole chain":         {"server", "server", full, true, "server <- intermediate <- root"},
		"inside the secret":   {"server", "", nil, true, "issued by intermediate"},
		"wrong subject":       {"server", "api", full, false, `subject is "server", not "api"`},
		"wrong key":           {"wrong-key", "", full, false, "tls.key does not belong"},
		"expired":             {"old", "", full, false, "expired"},
		"not yet valid":       {"early", "", full, false, "valid only from"},
		"self signed":         {"self", "", full, false, `is issued by "root", not by "intermediate"`},
		"same name other key": {"server", "", []string{"pki/impostor", "pki/root"}, false, "is not signed by"},
		"no root at the end":  {"server", "", []string{"pki/intermediate"}, false, "is not a root"},
		"missing issuer":      {"server", "", []string{"pki/none"}, false, "issuer pki/none: Secret none does not exist"},
		"ca of another":       {"other-ca", "", nil, false, "does not verify"},
	} {
		t.Run(name, func(t *testing.T) {
			got := smoke.Run(t.Context(), chain, []model.Check{{
				Kind: model.CheckCertificate, Namespace: "a", Name: tc.secret, Subject: tc.subject, IssuedBy: tc.issuedBy,
			}}, smoke.Options{Now: func() time.Time { return now }})[0]
			if got.OK != tc.ok || !strings.Contains(got.Message, tc.message) {
				t.Errorf("got %v %q, want %v %q", got.OK, got.Message, tc.ok, tc.message)
			}
			if strings.Contains(got.Message, "PRIVATE") {
				t.Errorf("a key shows: %s", got.Message)
			}
		})
	}
}

func TestServiceOf(t *testing.T) {
	for host, want := range map[string]string{
		"web": "web default true", "web.a": "web a true", "web.a.svc": "web a true", "web.a.svc.cluster.local": "web a true",
		"web.a.svc.cluster.local.": "web a true", "web-0.web.a.svc.cluster.local": "web a true",
		"shop.example.com": "  false", "10.0.0.1": "  false", "localhost": "  false",
	} {
		name, ns, ok := smoke.ServiceOf(host, "default")
		if got := fmt.Sprintf("%s %s %v", name, ns, ok); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
