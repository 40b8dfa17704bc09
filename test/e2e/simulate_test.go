package e2e

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
)

// world is a plane with its simulated world.
type world struct {
	t      *testing.T
	client *kubernetes.Clientset
	dyn    dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func startWorld(t *testing.T) world {
	t.Helper()
	p, client := startPlane(t)
	return world{t, client, dynamicOf(t, p), restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))}
}

// apply applies YAML documents and returns the first refusal.
func (w world) apply(text string) error {
	w.t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			w.t.Fatal(err)
		}
		gvk := u.GroupVersionKind()
		mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			w.mapper.Reset()
			if mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
				return err
			}
		}
		var client dynamic.ResourceInterface = w.dyn.Resource(mapping.Resource)
		if u.GetNamespace() != "" {
			client = w.dyn.Resource(mapping.Resource).Namespace(u.GetNamespace())
		}
		if _, err := client.Apply(w.t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
}

func (w world) must(text string) {
	w.t.Helper()
	if err := w.apply(text); err != nil {
		w.t.Fatal(err)
	}
}

// workload is a namespace with one Deployment in it.
func (w world) workload(namespace, name string) {
	w.t.Helper()
	w.must(fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: c, image: x}]}
`, namespace, name))
}

// condition waits until a condition of a custom resource has a status, with a
// message that holds a text.
func (w world) condition(gvr schema.GroupVersionResource, namespace, name, kind, status, message string) {
	w.t.Helper()
	eventually(w.t, func() error {
		u, err := w.dyn.Resource(gvr).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == kind && c["status"] == status && strings.Contains(fmt.Sprint(c["message"]), message) {
				return nil
			}
		}
		return fmt.Errorf("%s %s has %v, want %s=%s with %q", gvr.Resource, name, conditions, kind, status, message)
	})
}

func (w world) secret(namespace, name string, keys ...string) *corev1.Secret {
	w.t.Helper()
	var secret *corev1.Secret
	eventually(w.t, func() error {
		s, err := w.client.CoreV1().Secrets(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, k := range keys {
			if len(s.Data[k]) == 0 {
				return fmt.Errorf("secret %s has no %s", name, k)
			}
		}
		secret = s
		return nil
	})
	return secret
}

// pods waits until every pod of a label is what it should be.
func (w world) pods(namespace, selector string, count int, what string, is func(corev1.Pod) bool) {
	w.t.Helper()
	eventually(w.t, func() error {
		list, err := w.client.CoreV1().Pods(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		n := 0
		for _, p := range list.Items {
			if is(p) {
				n++
			}
		}
		if n != count {
			return fmt.Errorf("%d of %d pods of %s %s", n, count, selector, what)
		}
		return nil
	})
}

func ready(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func waitsFor(reason, message string) func(corev1.Pod) bool {
	return func(p corev1.Pod) bool {
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Reason == reason && strings.Contains(w.Message, message) {
				return true
			}
		}
		return false
	}
}

func TestSimulatedWorld(t *testing.T) {
	t.Parallel()
	w := startWorld(t)
	// One after the other: later ones need the operators of earlier ones.
	for _, test := range []struct {
		name string
		run  func(world)
	}{
		{"a pod waits for its Secret", podWaits},
		{"claims wait for their provisioner", claimsWait},
		{"a webhook refuses, then admits", webhookRefuses},
		{"a certificate chain holds", chainHolds},
		{"an ExternalSecret waits for Vault", externalSecretWaits},
		{"a database makes its Secret", databaseMakesSecret},
	} {
		if !t.Run(test.name, func(t *testing.T) { w.t = t; test.run(w) }) {
			return
		}
	}
}

func podWaits(w world) {
	w.must(`
apiVersion: v1
kind: Namespace
metadata: {name: pods}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: pods}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: x, env: [{name: P, valueFrom: {secretKeyRef: {name: db, key: password}}}]}]
`)
	w.pods("pods", "app=web", 2, "miss the Secret", waitsFor("CreateContainerConfigError", `secret "db" not found`))
	w.must(`{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: pods}, stringData: {user: x}}`)
	w.pods("pods", "app=web", 2, "miss the key", waitsFor("CreateContainerConfigError", "couldn't find key password in Secret pods/db"))
	w.must(`{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: pods}, stringData: {password: x}}`)
	w.pods("pods", "app=web", 2, "are ready", ready)
}

func claimsWait(w world) {
	w.must(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local-path, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: pods}
spec:
  serviceName: db
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: c, image: x, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`)
	eventually(w.t, func() error {
		c, err := w.client.CoreV1().PersistentVolumeClaims("pods").Get(w.t.Context(), "data-db-0", metav1.GetOptions{})
		if err == nil && c.Annotations["volume.kubernetes.io/storage-provisioner"] == "" {
			err = fmt.Errorf("claim data-db-0 is not offered to its provisioner: %v", c.Annotations)
		}
		return err
	})
	w.pods("pods", "app=db", 2, "are pending", func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodPending })
	w.workload("local-path-storage", "local-path-provisioner")
	w.pods("pods", "app=db", 2, "are ready", ready)
}

func webhookRefuses(w world) {
	w.must(`
apiVersion: v1
kind: Namespace
metadata: {name: guarded, labels: {guard: "yes"}}
---
apiVersion: v1
kind: Service
metadata: {name: guard, namespace: guarded}
spec: {selector: {app: guard}, ports: [{port: 443}]}
`)
	// Every pod mounts this one: refusing it as well would be a deadlock, here
	// as in production.
	eventually(w.t, func() error {
		_, err := w.client.CoreV1().ConfigMaps("guarded").Get(w.t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err
	})
	w.must(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
  - name: guard.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    clientConfig: {service: {name: guard, namespace: guarded, path: /validate}}
    namespaceSelector: {matchLabels: {guard: "yes"}}
    rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]
`)
	const object = `{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: guarded}}`
	eventually(w.t, func() error { // until the API server has seen the configuration
		err := w.apply(object)
		if err == nil {
			_ = w.client.CoreV1().ConfigMaps("guarded").Delete(w.t.Context(), "x", metav1.DeleteOptions{})
			return fmt.Errorf("admitted without the webhook's pods")
		}
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "guard.example.com") {
			w.t.Fatalf("refused for another reason: %v", err)
		}
		return nil
	})
	w.must(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: guard, namespace: guarded}
spec:
  selector: {matchLabels: {app: guard}}
  template:
    metadata: {labels: {app: guard}}
    spec: {containers: [{name: c, image: x}]}
`)
	eventually(w.t, func() error { return w.apply(object) })
}

func (w world) kinds(ids ...schema.GroupKind) {
	crds := realCRDs(w.t)
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, id := range ids {
		all = append(all, crds.of(id))
	}
	install(w.t, w.dyn, all...)
}

func chainHolds(w world) {
	w.kinds(schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}, schema.GroupKind{Group: "cert-manager.io", Kind: "ClusterIssuer"})
	eventually(w.t, func() error {
		return w.apply(`
{apiVersion: v1, kind: Namespace, metadata: {name: cert-manager}}
---
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web, namespace: pods}, spec: {commonName: web, dnsNames: [web.pods.svc], secretName: web-tls, issuerRef: {name: middle, kind: ClusterIssuer}}}
---
{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: middle}, spec: {ca: {secretName: middle}}}
---
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: middle, namespace: cert-manager}, spec: {isCA: true, commonName: middle, secretName: middle, issuerRef: {name: root, kind: ClusterIssuer}}}
---
{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: root}, spec: {ca: {secretName: root}}}
---
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: root, namespace: cert-manager}, spec: {isCA: true, commonName: root, secretName: root, issuerRef: {name: self, kind: ClusterIssuer}}}
---
{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: self}, spec: {selfSigned: {}}}
`)
	})
	w.workload("cert-manager", "cert-manager")
	w.condition(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}, "pods", "web", "Ready", "True", "")
	leaf, root := w.secret("pods", "web-tls", "tls.crt", "tls.key", "ca.crt"), w.secret("cert-manager", "root", "tls.crt")
	chain, err := certificate.Parse(leaf.Data["tls.crt"])
	if err != nil {
		w.t.Fatal(err)
	}
	options := x509.VerifyOptions{Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), DNSName: "web.pods.svc"}
	options.Roots.AppendCertsFromPEM(root.Data["tls.crt"])
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := chain[0].Verify(options); err != nil {
		w.t.Errorf("the chain from the root does not hold: %v", err)
	}
}

func externalSecretWaits(w world) {
	w.kinds(schema.GroupKind{Group: "external-secrets.io", Kind: "ExternalSecret"}, schema.GroupKind{Group: "external-secrets.io", Kind: "ClusterSecretStore"})
	w.workload("external-secrets", "external-secrets")
	eventually(w.t, func() error {
		return w.apply(`
{apiVersion: external-secrets.io/v1, kind: ClusterSecretStore, metadata: {name: vault}, spec: {provider: {vault: {server: "http://vault.vault.svc:8200", path: secret, auth: {tokenSecretRef: {name: token, namespace: pods, key: token}}}}}}
---
{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: api, namespace: pods}, spec: {secretStoreRef: {name: vault, kind: ClusterSecretStore}, target: {name: api-keys}, data: [{secretKey: key, remoteRef: {key: a}}]}}
`)
	})
	externalSecrets := schema.GroupVersionResource{Group: "external-secrets.io", Version: "v1", Resource: "externalsecrets"}
	w.condition(externalSecrets, "pods", "api", "Ready", "False", "vault is not ready")
	w.workload("vault", "vault")
	w.must(`{apiVersion: v1, kind: Service, metadata: {name: vault, namespace: vault}, spec: {selector: {app: vault}, ports: [{port: 8200}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: pods}, stringData: {token: x}}`)
	w.condition(externalSecrets, "pods", "api", "Ready", "True", "")
	w.secret("pods", "api-keys", "key")
}

func databaseMakesSecret(w world) {
	w.kinds(schema.GroupKind{Group: "postgresql.cnpg.io", Kind: "Cluster"})
	eventually(w.t, func() error {
		return w.apply(`{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: pg, namespace: pods}, spec: {instances: 2, storage: {size: 1Gi}, bootstrap: {initdb: {database: shop, owner: shop}}}}`)
	})
	w.workload("cnpg-system", "cnpg-controller-manager")
	w.condition(schema.GroupVersionResource{Group: "postgresql.cnpg.io", Version: "v1", Resource: "clusters"}, "pods", "pg", "Ready", "True", "")
	s := w.secret("pods", "pg-app", "username", "password", "uri", "jdbc-uri")
	if got := string(s.Data["dbname"]); got != "shop" {
		w.t.Errorf("pg-app is for database %q, want shop", got)
	}
	w.pods("pods", "cnpg.io/cluster=pg", 2, "are ready", ready)
}
