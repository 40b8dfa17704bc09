package infer

import "github.com/rollout-ladder/ladder/internal/plan"

// Issuers: a Certificate becomes Ready only while its issuer is.

func issuerKey(kind, ns, name string) key {
	if kind == "ClusterIssuer" {
		return key{Kind: kindClusterIssuer, Name: name}
	}
	return key{Kind: kindIssuer, Namespace: ns, Name: name}
}

func providesIssuer(o object, add func(key)) {
	if o.is("cert-manager.io", "Issuer", "ClusterIssuer") {
		add(issuerKey(o.GetKind(), o.namespace(), o.GetName()))
	}
}

// issuerAnnotations make cert-manager issue what an Ingress or Gateway names.
// Source: cert-manager, "Annotated Ingress resource".
var issuerAnnotations = []struct{ name, kind string }{
	{"cert-manager.io/cluster-issuer", "ClusterIssuer"},
	{"cert-manager.io/issuer", "Issuer"},
}

func hasIssuerAnnotation(o object) bool {
	for _, a := range issuerAnnotations {
		if o.GetAnnotations()[a.name] != "" {
			return true
		}
	}
	return false
}

func requiresIssuer(_ world, o object, add func(need)) {
	issuer := func(kind, name, field string, strength plan.Strength) {
		add(need{key: issuerKey(kind, o.namespace(), name), field: field, strength: strength, verb: "is issued by " + kind + " " + name})
	}
	switch {
	case o.is("cert-manager.io", "Certificate", "CertificateRequest"):
		ref := mapping(o.Object.Object, "spec", "issuerRef")
		kind, group := either(text(ref, "kind"), "Issuer"), text(ref, "group")
		if (kind == "Issuer" || kind == "ClusterIssuer") && (group == "" || group == "cert-manager.io") {
			issuer(kind, text(ref, "name"), "spec.issuerRef.name", plan.Hard)
		}
	case o.is("networking.k8s.io", "Ingress"), o.is("gateway.networking.k8s.io", "Gateway"):
		strength := plan.Soft // an Ingress serves a default certificate meanwhile
		if o.GetKind() == "Gateway" {
			strength = plan.Hard
		}
		for _, a := range issuerAnnotations {
			if name := o.GetAnnotations()[a.name]; name != "" {
				issuer(a.kind, name, "metadata.annotations."+a.name, strength)
			}
		}
	}
}
