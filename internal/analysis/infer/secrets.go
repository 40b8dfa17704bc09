package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Secrets and ConfigMaps: a pod that reads one waits until it exists.

func secretKey(ns, name string) key { return key{Kind: kindSecret, Namespace: ns, Name: name} }

func configMapKey(ns, name string) key { return key{Kind: kindConfigMap, Namespace: ns, Name: name} }

// providesSecret: the object itself, and the objects whose fields say which
// Secret an operator makes of them. Source: the documentation of each operator.
func providesSecret(o *object, add func(key)) {
	root, ns := o.root(), o.namespace()
	switch o.g {
	case "":
		if o.k == "Secret" {
			add(secretKey(ns, o.name))
		}
	case "networking.k8s.io":
		if o.k == "Ingress" && hasIssuerAnnotation(o) { // cert-manager's ingress shim
			each(list(root, "spec", "tls"), "", func(tls map[string]any, _ string) { add(secretKey(ns, text(tls, "secretName"))) })
		}
	case "gateway.networking.k8s.io":
		if o.k == "Gateway" && hasIssuerAnnotation(o) { // and its gateway shim
			gatewayCertificates(o, func(ref map[string]any, _ string) {
				add(secretKey(either(text(ref, "namespace"), ns), text(ref, "name")))
			})
		}
	case "external-secrets.io":
		externalSecrets(o, add)
	case "postgresql.cnpg.io":
		if o.k == "Cluster" {
			postgresSecrets(o, add)
		}
	}
	if customGroup(o.g) { // Crossplane, whatever the group of the resource
		ref := mapping(root, "spec", "writeConnectionSecretToRef")
		add(secretKey(either(text(ref, "namespace"), ns), text(ref, "name")))
		add(secretKey(ns, text(root, "spec", "publishConnectionDetailsTo", "name")))
	}
}

// externalSecrets are those the External Secrets Operator makes. Source: its API
// reference: with the policies None and Merge another makes the Secret; a
// ClusterExternalSecret makes one in every namespace it selects.
func externalSecrets(o *object, add func(key)) {
	root := o.root()
	spec, name := mapping(root, "spec"), o.name
	namespaces := []string{o.namespace()}
	switch o.k {
	case "ExternalSecret":
	case "ClusterExternalSecret":
		name = either(text(root, "spec", "externalSecretName"), o.name)
		spec = mapping(root, "spec", "externalSecretSpec")
		namespaces = nil
		for _, ns := range list(root, "spec", "namespaces") {
			if s, ok := ns.(string); ok {
				namespaces = append(namespaces, s)
			}
		}
		if mapping(root, "spec", "namespaceSelector") != nil || len(list(root, "spec", "namespaceSelectors")) > 0 {
			namespaces = append(namespaces, everyNamespace)
		}
	default:
		return
	}
	if policy := text(spec, "target", "creationPolicy"); policy == "None" || policy == "Merge" {
		return
	}
	for _, ns := range namespaces {
		if text(spec, "target", "manifest", "kind") == "ConfigMap" {
			add(configMapKey(ns, either(text(spec, "target", "name"), name)))
			continue
		}
		add(secretKey(ns, either(text(spec, "target", "name"), name)))
	}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func providesConfigMap(o *object, add func(key)) {
	if o.is("", "ConfigMap") {
		add(configMapKey(o.namespace(), o.name))
	}
}

// secretsOfPods: env, envFrom, volumes and projected volumes; not what is
// optional.
func secretsOfPods(_ *world, o *object, add func(need)) {
	spec, path := podSpec(o)
	if spec == nil {
		return
	}
	ns, strength := o.namespace(), podStrength(o)
	reads := func(k key, word, field string, parts []part) {
		add(need{key: k, parts: parts, field: field, strength: strength, effect: dependency.Ready, verb: "reads " + word + " " + ns + "/" + k.Name, absent: true, hint: idle(o)})
	}
	refs := func(m map[string]any, path, secretField, secretName, configField string) {
		if ref := mapping(m, secretField); ref != nil && !truth(ref, "optional") {
			reads(secretKey(ns, text(ref, secretName)), "Secret", path+"."+secretField+"."+secretName, keysIn(ref, path+"."+secretField))
		}
		if ref := mapping(m, configField); ref != nil && !truth(ref, "optional") {
			reads(configMapKey(ns, text(ref, "name")), "ConfigMap", path+"."+configField+".name", keysIn(ref, path+"."+configField))
		}
	}
	containers(spec, path, func(c map[string]any, path string) {
		each(list(c, "env"), path+".env", func(env map[string]any, path string) {
			refs(mapping(env, "valueFrom"), path+".valueFrom", "secretKeyRef", "name", "configMapKeyRef")
		})
		each(list(c, "envFrom"), path+".envFrom", func(from map[string]any, path string) {
			refs(from, path, "secretRef", "name", "configMapRef")
		})
	})
	mounted := mounts(spec)
	each(list(spec, "volumes"), path+".volumes", func(v map[string]any, path string) {
		if !mounted(text(v, "name")) {
			return
		}
		refs(v, path, "secret", "secretName", "configMap")
		each(list(v, "projected", "sources"), path+".projected.sources", func(s map[string]any, path string) {
			refs(s, path, "secret", "name", "configMap")
		})
		if ref := text(v, "csi", "nodePublishSecretRef", "name"); ref != "" {
			reads(secretKey(ns, ref), "Secret", path+".csi.nodePublishSecretRef.name", nil)
		}
	})
	// The kubelet pulls without a pull secret that is not there.
	each(list(spec, "imagePullSecrets"), path+".imagePullSecrets", func(ref map[string]any, path string) {
		pulls(o, text(ref, "name"), path+".name", add)
	})
}

// keysIn are the keys that a reference of a pod names. A pod does not start
// without them. Source: Kubernetes API, SecretKeySelector and
// SecretVolumeSource.items.
func keysIn(ref map[string]any, path string) []part {
	var keys []part
	if key := text(ref, "key"); key != "" {
		keys = append(keys, part{key, path + ".key"})
	}
	each(list(ref, "items"), path+".items", func(item map[string]any, path string) {
		keys = append(keys, part{text(item, "key"), path + ".key"})
	})
	return keys
}

func pulls(o *object, name, field string, add func(need)) {
	ns := o.namespace()
	add(need{key: secretKey(ns, name), field: field, strength: plan.Soft, effect: dependency.Ready, verb: "pulls images with Secret " + ns + "/" + name,
		hint: idle(o)})
}

// gatewayCertificates visits the certificate references of a Gateway.
func gatewayCertificates(o *object, visit func(ref map[string]any, path string)) {
	each(list(o.root(), "spec", "listeners"), "spec.listeners", func(l map[string]any, path string) {
		each(list(l, "tls", "certificateRefs"), path+".tls.certificateRefs", func(ref map[string]any, path string) {
			if kind := text(ref, "kind"); (kind == "" || kind == "Secret") && text(ref, "group") == "" {
				visit(ref, path)
			}
		})
	})
}

// secretsOfRoutes: TLS of an Ingress, which serves a default certificate until
// it is there, and of a Gateway's listeners, which do not come up without.
func secretsOfRoutes(_ *world, o *object, add func(need)) {
	ns := o.namespace()
	serves := func(ns, name, field string, strength plan.Strength) {
		add(need{key: secretKey(ns, name), field: field, strength: strength, effect: dependency.Ready, verb: "serves TLS with Secret " + ns + "/" + name})
	}
	switch {
	case o.is("networking.k8s.io", "Ingress"):
		each(list(o.root(), "spec", "tls"), "spec.tls", func(tls map[string]any, path string) {
			serves(ns, text(tls, "secretName"), path+".secretName", plan.Soft)
		})
		secretsOfNGINX(o, add)
	case o.is("gateway.networking.k8s.io", "Gateway"):
		gatewayCertificates(o, func(ref map[string]any, path string) {
			serves(either(text(ref, "namespace"), ns), text(ref, "name"), path+".name", plan.Hard)
		})
	case o.is("traefik.io", "IngressRoute", "IngressRouteTCP"):
		serves(ns, text(o.root(), "spec", "tls", "secretName"), "spec.tls.secretName", plan.Soft)
	case o.is("traefik.io", "TLSStore"):
		serves(ns, text(o.root(), "spec", "defaultCertificate", "secretName"), "spec.defaultCertificate.secretName", plan.Soft)
	case o.is("", "ServiceAccount"):
		each(list(o.root(), "imagePullSecrets"), "imagePullSecrets", func(ref map[string]any, path string) {
			pulls(o, text(ref, "name"), path+".name", add)
		})
	}
}

// annotationSecrets are the annotations of ingress-nginx that name a Secret, and what it does
// with it. Source: ingress-nginx, "Annotations"; internal/ingress/annotations, auth, authtls and proxyssl.
var annotationSecrets = []struct{ name, verb string }{
	{"auth-secret", "asks for the passwords of"},
	{"auth-tls-secret", "checks the certificates of clients with"},
	{"proxy-ssl-secret", "calls its backends with"},
}

// secretsOfNGINX: what the annotations of an Ingress name, as namespace/name; the one of
// passwords may leave the namespace out, and means something only with the type of them.
// Meanwhile the Ingress answers with an error.
func secretsOfNGINX(o *object, add func(need)) {
	const prefix = "nginx.ingress.kubernetes.io/"
	annotations := mapping(o.root(), "metadata", "annotations")
	for _, a := range annotationSecrets {
		written := text(annotations, prefix+a.name)
		ns, name, whole := strings.Cut(written, "/")
		if !whole {
			if a.name != "auth-secret" {
				continue // is not read
			}
			ns, name = o.namespace(), written
		}
		if name == "" || strings.Contains(name, "/") || a.name == "auth-secret" && text(annotations, prefix+"auth-type") == "" {
			continue
		}
		add(need{key: secretKey(ns, name), field: "metadata.annotations[" + prefix + a.name + "]", strength: plan.Soft, effect: dependency.Ready,
			verb: a.verb + " Secret " + ns + "/" + name})
	}
}
