package operator

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/simulate/certificate"
)

// maker runs the built-in that the rule names. It reports false when the object
// still waits for something; then the status is written.
func (w *work) maker(ctx context.Context) (bool, error) {
	if w.rule.Maker == "xrd" {
		return true, w.makeDefinitions(ctx)
	}
	return w.makeCertificate(ctx)
}

// makeCertificate issues the certificate of a cert-manager Certificate into its
// Secret. The rule's requirements find its issuer (refs.issuer) and, for an
// issuer that signs with a Secret, that Secret (refs.ca).
func (w *work) makeCertificate(ctx context.Context) (bool, error) {
	spec, _ := w.self.Object["spec"].(map[string]any)
	request := requestOf(spec)
	name := textOf(spec, "secretName")
	now := time.Now()
	existing := w.engine.world.Secrets.Get(w.self.GetNamespace(), name)
	if existing != nil && request.Fits(existing.Data["tls.crt"], now) && len(existing.Data["tls.key"]) > 0 {
		return true, nil
	}
	authority, withCA, err := w.authority()
	if err != nil {
		w.scope["missing"] = map[string]any{"kind": "Secret", "name": "", "message": err.Error()}
		return false, w.wait(ctx, nil)
	}
	issued, err := certificate.Issue(request, authority, now)
	if err != nil {
		return false, fmt.Errorf("issue the certificate: %w", err)
	}
	data := map[string]any{"tls.crt": encoded(issued.Certificate), "tls.key": encoded(issued.Key)}
	if withCA {
		data["ca.crt"] = encoded(issued.CA)
	}
	for _, format := range listOf(spec, "additionalOutputFormats") {
		if f, _ := format.(map[string]any); f["type"] == "CombinedPEM" {
			data["tls-combined.pem"] = encoded(slices.Concat(issued.Key, []byte("\n"), issued.Certificate))
		}
	}
	issuer, _ := spec["issuerRef"].(map[string]any)
	annotations := map[string]any{
		"cert-manager.io/certificate-name": w.self.GetName(), "cert-manager.io/issuer-name": textOf(issuer, "name"),
		"cert-manager.io/issuer-kind": textOf(issuer, "kind"), "cert-manager.io/common-name": request.CommonName,
	}
	labels := map[string]any{"controller.cert-manager.io/fao": "true"}
	if template, ok := spec["secretTemplate"].(map[string]any); ok {
		a, _ := template["annotations"].(map[string]any)
		maps.Copy(annotations, a)
		l, _ := template["labels"].(map[string]any)
		maps.Copy(labels, l)
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
		"metadata": map[string]any{"name": name, "annotations": annotations, "labels": labels},
		"data":     data,
	}}
	_, err = w.apply(ctx, secret, false)
	return err == nil, err
}

// authority finds who signs, and whether a ca.crt belongs into the Secret: an
// issuer that signs itself has no authority, a public one keeps its root.
func (w *work) authority() (a *certificate.Authority, withCA bool, err error) {
	refs, _ := w.scope["refs"].(map[string]any)
	if ca, ok := first(refs["ca"]); ok {
		secret := w.engine.world.Secrets.Get(textOf(ca, "namespace"), textOf(ca, "name"))
		if secret == nil {
			return nil, false, fmt.Errorf("secret %q not found", textOf(ca, "name"))
		}
		a, err := certificate.ParseAuthority(secret.Data["tls.crt"], secret.Data["tls.key"])
		if err != nil {
			return nil, false, fmt.Errorf("signing CA Secret %s/%s: %w", secret.Namespace, secret.Name, err)
		}
		return a, true, nil
	}
	issuer, _ := first(refs["issuer"])
	object, _ := issuer["object"].(map[string]any)
	spec, _ := object["spec"].(map[string]any)
	if _, ok := spec["selfSigned"]; ok {
		return nil, true, nil
	}
	_, acme := spec["acme"]
	return w.engine.public, !acme, nil
}

func first(list any) (map[string]any, bool) {
	l, _ := list.([]any)
	if len(l) == 0 {
		return nil, false
	}
	m, ok := l[0].(map[string]any)
	return m, ok
}

func requestOf(spec map[string]any) certificate.Request {
	key, _ := spec["privateKey"].(map[string]any)
	subject, _ := spec["subject"].(map[string]any)
	r := certificate.Request{
		CommonName: textOf(spec, "commonName"), Organizations: textsOf(subject, "organizations"),
		DNSNames: textsOf(spec, "dnsNames"), EmailAddresses: textsOf(spec, "emailAddresses"),
		Algorithm: textOf(key, "algorithm"),
	}
	r.IsCA, _ = spec["isCA"].(bool)
	if size, ok := key["size"].(int64); ok {
		r.Size = int(size)
	}
	if life, err := time.ParseDuration(textOf(spec, "duration")); err == nil {
		r.Life = life
	}
	for _, usage := range textsOf(spec, "usages") {
		r.ClientAuth = r.ClientAuth || usage == "client auth"
	}
	for _, address := range textsOf(spec, "ipAddresses") {
		if ip := net.ParseIP(address); ip != nil {
			r.Addresses = append(r.Addresses, ip)
		}
	}
	for _, text := range textsOf(spec, "uris") {
		if u, err := url.Parse(text); err == nil {
			r.URIs = append(r.URIs, u)
		}
	}
	return r
}

func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func textOf(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func listOf(m map[string]any, key string) []any {
	l, _ := m[key].([]any)
	return l
}

func textsOf(m map[string]any, key string) []string {
	var out []string
	for _, v := range listOf(m, key) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
