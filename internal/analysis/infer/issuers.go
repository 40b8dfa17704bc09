package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Issuers: a Certificate becomes Ready only while its issuer is.

func issuerKey(kind, ns, name string) key {
	if kind == "ClusterIssuer" {
		return key{Kind: kindClusterIssuer, Name: name}
	}
	return key{Kind: kindIssuer, Namespace: ns, Name: name}
}

func providesIssuer(o *object, add func(key)) {
	if o.is("cert-manager.io", "Issuer", "ClusterIssuer") {
		add(issuerKey(o.k, o.namespace(), o.name))
	}
}

// issuerAnnotations make cert-manager issue what an Ingress or Gateway names.
// Source: cert-manager, "Annotated Ingress resource".
var issuerAnnotations = []struct{ name, kind string }{
	{"cert-manager.io/cluster-issuer", "ClusterIssuer"},
	{"cert-manager.io/issuer", "Issuer"},
}

// issuerAnnotation reads the annotation; one that names an issuer of another
// group is not cert-manager's to find.
func issuerAnnotation(o *object, name string) string {
	annotations := mapping(o.root(), "metadata", "annotations")
	if group := text(annotations, "cert-manager.io/issuer-group"); group != "" && group != "cert-manager.io" {
		return ""
	}
	return text(annotations, name)
}

func hasIssuerAnnotation(o *object) bool {
	annotations := mapping(o.root(), "metadata", "annotations")
	for _, a := range issuerAnnotations {
		if text(annotations, a.name) != "" {
			return true
		}
	}
	return false
}

func requiresIssuer(_ *world, o *object, add func(need)) {
	issuer := func(kind, name, field string, strength plan.Strength) {
		add(need{key: issuerKey(kind, o.namespace(), name), field: field, strength: strength, effect: dependency.Ready,
			verb: "is issued by " + kind + " " + name, absent: true, slip: strength == plan.Soft})
	}
	switch {
	case o.is("cert-manager.io", "Certificate", "CertificateRequest"):
		ref := mapping(o.root(), "spec", "issuerRef")
		kind, group := either(text(ref, "kind"), "Issuer"), text(ref, "group")
		if (kind == "Issuer" || kind == "ClusterIssuer") && (group == "" || group == "cert-manager.io") {
			issuer(kind, text(ref, "name"), "spec.issuerRef.name", plan.Hard)
		}
	case o.is("networking.k8s.io", "Ingress"), o.is("gateway.networking.k8s.io", "Gateway"):
		strength := plan.Soft // an Ingress serves a default certificate meanwhile
		if o.k == "Gateway" {
			strength = plan.Hard
			if !asksForCertificate(o) {
				return
			}
		}
		for _, a := range issuerAnnotations {
			if name := issuerAnnotation(o, a.name); name != "" {
				issuer(a.kind, name, "metadata.annotations."+a.name, strength)
			}
		}
	}
}

// asksForCertificate reports whether a Gateway has a listener that cert-manager makes a certificate
// for: one that ends TLS for a host name, with a Secret of its own namespace. Source:
// cert-manager, pkg/controller/certificate-shim, validateGatewayListenerBlock.
func asksForCertificate(gateway *object) bool {
	asks := false
	each(list(gateway.root(), "spec", "listeners"), "spec.listeners", func(l map[string]any, _ string) {
		if text(l, "hostname") == "" || text(l, "tls", "mode") == "Passthrough" {
			return
		}
		refs := list(l, "tls", "certificateRefs")
		good := len(refs) > 0
		each(refs, "", func(ref map[string]any, _ string) {
			ns, group := text(ref, "namespace"), text(ref, "group")
			good = good && (ns == "" || ns == gateway.namespace()) && (group == "" || group == "core") && either(text(ref, "kind"), "Secret") == "Secret"
		})
		asks = asks || good
	})
	return asks
}
