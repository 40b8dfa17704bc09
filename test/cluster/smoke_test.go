package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const smokeCanary = "canary-of-the-smokes"

// smokeObjects are what the checks look at: web runs, idle waits for a Secret that
// never comes.
const smokeObjects = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web}]}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: idle, namespace: shop}, spec: {replicas: 1, selector: {matchLabels: {app: idle}}, template: {metadata: {labels: {app: idle}}, spec: {containers: [{name: main, image: idle, envFrom: [{secretRef: {name: never}}]}]}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: idle, namespace: shop}, spec: {selector: {app: idle}, ports: [{port: 80}]}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: done, namespace: shop}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: done}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: waits, namespace: shop}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: waits, envFrom: [{secretRef: {name: never}}]}]}}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, stringData: {password: canary-of-the-smokes}}
`

const smokePlatform = `
-- environments/dev/components/good/component.yaml --
name: good
domain: apps
namespace: shop
rolloutPhase: "699"
componentType: smoke
validates: [web]
smoke:
  - condition: {apiVersion: apps/v1, kind: Deployment, name: web, conditions: {Available: "True"}}
  - secret: {name: db, keys: [password]}
  - certificate: {secret: server, subject: server, issuedBy: [intermediate, root]}
  - job: {name: done}
  - endpoint: {service: web}
  - http: {url: "http://web.shop/healthz"}
  - tcp: {address: "web:80"}
  - cel: {apiVersion: apps/v1, kind: Deployment, name: web, expression: object.spec.replicas == 2}
-- environments/dev/components/bad/component.yaml --
name: bad
domain: apps
namespace: shop
rolloutPhase: "698"
componentType: smoke
validates: [web]
smoke:
  - condition: {apiVersion: apps/v1, kind: Deployment, name: idle, conditions: {Available: "True"}}
  - secret: {name: db, keys: [password, user]}
  - certificate: {secret: stray, issuedBy: [intermediate, root]}
  - job: {name: waits}
  - endpoint: {service: idle}
  - http: {url: "http://idle.shop/healthz"}
  - tcp: {address: "idle:80"}
  - cel: {apiVersion: apps/v1, kind: Deployment, name: web, expression: object.spec.replicas == 3}
-- environments/dev/components/web/component.yaml --
name: web
domain: apps
namespace: shop
rolloutPhase: "650"
componentType: runtime
manifests: {path: sources/web}
`

// smokeSite is a plane with smokeObjects, and smokePlatform, which declares the checks.
type smokeSite struct {
	t      *testing.T
	dir    string
	plane  *plane.Plane
	client dynamic.Interface
}

func newSmokeSite(t *testing.T) *smokeSite {
	t.Helper()
	s := &smokeSite{t: t, dir: t.TempDir()}
	for _, part := range strings.Split(smokePlatform, "\n-- ")[1:] {
		name, text, _ := strings.Cut(part, " --\n")
		file := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := plane.Start(t.Context(), plane.Options{Executable: planetest.Binary(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(context.Background()) })
	s.plane = p
	access, err := p.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if s.client, err = dynamic.NewForConfig(access); err != nil {
		t.Fatal(err)
	}
	documents, err := manifest.Parse([]byte(smokeObjects))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		s.create(d.Object)
	}
	root := s.issue("root", nil)
	intermediate := s.issue("intermediate", root)
	s.issue("server", intermediate)
	s.issue("stray", root)
	s.awaitEndpoints("web", 2)
	return s
}

// awaitEndpoints waits until a Service has so many endpoints that are ready: a check
// holds with one.
func (s *smokeSite) awaitEndpoints(service string, want int) {
	s.t.Helper()
	slices := s.client.Resource(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).Namespace("shop")
	ready := 0
	err := wait.PollUntilContextTimeout(s.t.Context(), 50*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		found, err := slices.List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return false, err
		}
		ready = 0
		for _, item := range found.Items {
			var slice discoveryv1.EndpointSlice
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &slice); err != nil {
				return false, err
			}
			for _, e := range slice.Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					ready++
				}
			}
		}
		return ready == want, nil
	})
	if err != nil {
		s.t.Fatalf("Service %s has %d ready endpoints: %v", service, ready, err)
	}
}

func (s *smokeSite) create(o *unstructured.Unstructured) {
	s.t.Helper()
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if _, err := s.client.Resource(resource).Namespace(o.GetNamespace()).Create(s.t.Context(), o, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue makes a certificate, signed by another or by itself, in a TLS Secret of
// its name.
func (s *smokeSite) issue(name string, by *pair) *pair {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: name == "root" || name == "intermediate", BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	out, signer := &pair{certificate: template, key: key}, &pair{template, key}
	if by != nil {
		signer = by
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, &key.PublicKey, signer.key)
	if err != nil {
		s.t.Fatal(err)
	}
	if out.certificate, err = x509.ParseCertificate(der); err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	encode := func(kind string, bytes []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	s.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": map[string]any{"name": name, "namespace": "shop"},
		"data": map[string]any{"tls.crt": encode("CERTIFICATE", der), "tls.key": encode("PRIVATE KEY", secret)},
	}})
	return out
}

// smoke runs the command and returns its exit code and output. Nothing it prints
// may hold a secret.
func (s *smokeSite) smoke(args ...string) (code int, out string) {
	s.t.Helper()
	cmd := exec.Command(planetest.Binary(s.t), append([]string{"smoke"}, args...)...)
	cmd.Dir = s.dir
	var errs strings.Builder
	cmd.Stderr = &errs
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	for _, form := range []string{smokeCanary, base64.StdEncoding.EncodeToString([]byte(smokeCanary)), "PRIVATE KEY"} {
		if strings.Contains(string(text)+errs.String(), form) {
			s.t.Errorf("a secret shows in %s%s", text, errs.String())
		}
	}
	if cmd.ProcessState.ExitCode() == 2 || cmd.ProcessState.ExitCode() == 3 {
		s.t.Log(errs.String())
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// TestSmokeOnPlane asks every kind of check where it holds and where it does not.
func TestSmokeOnPlane(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	t.Parallel()
	s := newSmokeSite(t)
	here := []string{"--kubeconfig", s.plane.Kubeconfig}

	t.Run("holds", func(t *testing.T) {
		s.t = t
		code, out := s.smoke(append(here, ".", "good", "--wait", "60s")...)
		want := `good 699 validates web
  ok   condition Deployment shop/web: Available as wanted
  ok   secret Secret shop/db: has password
  ok   certificate Secret shop/server: server <- intermediate <- root
  ok   job Job shop/done: has completed
  ok   endpoint Service shop/web: Service shop/web has 2 ready endpoints
  ok   http http://web.shop/healthz: Service shop/web has 2 ready endpoints
  ok   tcp web:80: Service shop/web has 2 ready endpoints
  ok   cel Deployment shop/web: object.spec.replicas == 2 holds

8 checks of 1 component on ladder: all hold
`
		if diff := cmp.Diff(want, out); diff != "" || code != 0 {
			t.Errorf("exit code %d: %s", code, diff)
		}
	})

	messages := []string{
		"condition Available is False, not True: MinimumReplicasUnavailable: Deployment does not have minimum availability.",
		"has no key user",
		`"stray" is issued by "root", not by "intermediate"`,
		"has not completed yet",
		"Service shop/idle has no ready endpoint", "Service shop/idle has no ready endpoint", "Service shop/idle has no ready endpoint",
		"object.spec.replicas == 3 does not hold",
	}
	t.Run("does not hold", func(t *testing.T) {
		s.t = t
		code, out := s.smoke(append(here, "bad", "--format", "json")...)
		var got report.Smoke
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if code != 1 || got.Result != "failed" || got.Summary != (report.SmokeSummary{Components: 1, Checks: 8, Failed: 8}) {
			t.Errorf("exit code %d, result %s, %+v", code, got.Result, got.Summary)
		}
		for i, check := range got.Components[0].Checks {
			if check.Message != messages[i] || check.Position.File != "environments/dev/components/bad/component.yaml" || check.Position.Line != 8+i {
				t.Errorf("%s: %q at %s, want %q at line %d", check.Check, check.Message, check.Position, messages[i], 8+i)
			}
		}
	})

	t.Run("waits in vain", func(t *testing.T) {
		s.t = t
		if code, out := s.smoke(append(here, "bad", "--wait", "1s", "--interval", "300ms")...); code != 4 || !strings.HasSuffix(out, ": 8 do not hold, and the time is over\n") {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})

	t.Run("junit", func(t *testing.T) {
		s.t = t
		code, out := s.smoke(append(here, "type=smoke", "--format", "junit")...)
		var got struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Suites   []struct {
				Name string `xml:"name,attr"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if code != 1 || got.Tests != 16 || got.Failures != 8 || len(got.Suites) != 2 || got.Suites[0].Name != "bad" {
			t.Errorf("exit code %d: %+v", code, got)
		}
	})

	t.Run("a file of checks", func(t *testing.T) {
		s.t = t
		text, err := smokejob.Marshal("good", []model.Check{
			{Kind: model.CheckSecret, ObjectKind: "Secret", Namespace: "shop", Name: "db", Keys: []string{"password"}},
			{Kind: model.CheckEndpoint, ObjectKind: "Service", Namespace: "shop", Name: "idle"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "checks.yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		want := `good
  ok   secret Secret shop/db: has password
  FAIL endpoint Service shop/idle: Service shop/idle has no ready endpoint
       declared at checks.yaml

2 checks of 1 component on ladder: 1 do not hold
`
		code, out := s.smoke(append(here, "--checks", "checks.yaml")...)
		if diff := cmp.Diff(want, out); diff != "" || code != 1 {
			t.Errorf("exit code %d: %s", code, diff)
		}
	})

	t.Run("unreachable", func(t *testing.T) {
		s.t = t
		gone := filepath.Join(s.dir, "gone.yaml")
		text := "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n"
		if err := os.WriteFile(gone, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out := s.smoke("good", "--kubeconfig", gone); code != 3 || out != "" {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
}
