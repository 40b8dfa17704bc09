package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/plan"
)

// Secrets and ConfigMaps: a pod that reads one waits until it exists.

func secretKey(ns, name string) key { return key{Kind: kindSecret, Namespace: ns, Name: name} }

func configMapKey(ns, name string) key { return key{Kind: kindConfigMap, Namespace: ns, Name: name} }

// providesSecret: the object itself, and the objects from which an operator
// makes one. Source: the documentation of each operator.
func providesSecret(o object, add func(key)) {
	root, ns := o.Object.Object, o.namespace()
	if ref := mapping(root, "spec", "writeConnectionSecretToRef"); ref != nil { // Crossplane
		if target := text(ref, "namespace"); target != "" {
			ns = target
		}
		add(secretKey(ns, text(ref, "name")))
		return
	}
	switch {
	case o.is("", "Secret"):
		add(secretKey(ns, o.GetName()))
	case o.is("bitnami.com", "SealedSecret"):
		add(secretKey(ns, either(text(root, "spec", "template", "metadata", "name"), o.GetName())))
	case o.is("external-secrets.io", "ExternalSecret"):
		switch text(root, "spec", "target", "creationPolicy") {
		case "None", "Merge": // another makes it
		default:
			add(secretKey(ns, either(text(root, "spec", "target", "name"), o.GetName())))
		}
	case o.is("cert-manager.io", "Certificate"):
		add(secretKey(ns, text(root, "spec", "secretName")))
	case o.is("networking.k8s.io", "Ingress") && hasIssuerAnnotation(o): // cert-manager's ingress shim
		each(list(root, "spec", "tls"), "", func(tls map[string]any, _ string) { add(secretKey(ns, text(tls, "secretName"))) })
	case o.is("gateway.networking.k8s.io", "Gateway") && hasIssuerAnnotation(o): // and its gateway shim
		gatewayCertificates(o, func(ref map[string]any, _ string) {
			add(secretKey(either(text(ref, "namespace"), ns), text(ref, "name")))
		})
	case o.is("postgresql.cnpg.io", "Cluster"):
		postgresSecrets(o, add)
	case o.is("kafka.strimzi.io", "Kafka"):
		add(secretKey(ns, o.GetName()+"-cluster-ca-cert"))
		add(secretKey(ns, o.GetName()+"-clients-ca-cert"))
	case o.is("kafka.strimzi.io", "KafkaUser"):
		add(secretKey(ns, text(root, "spec", "secretPrefix")+o.GetName()))
	case o.is("k8s.keycloak.org", "Keycloak") && mapping(root, "spec", "bootstrapAdmin") == nil:
		add(secretKey(ns, o.GetName()+"-initial-admin"))
	case o.is("secrets.hashicorp.com", "VaultStaticSecret", "VaultDynamicSecret", "VaultPKISecret") && truth(root, "spec", "destination", "create"):
		add(secretKey(ns, text(root, "spec", "destination", "name")))
	case o.is("onepassword.com", "OnePasswordItem"):
		add(secretKey(ns, o.GetName()))
	}
}

// postgresSecrets are those CloudNativePG makes for a cluster. Source:
// CloudNativePG, "Bootstrap" and "Certificates".
func postgresSecrets(o object, add func(key)) {
	root, ns, name := o.Object.Object, o.namespace(), o.GetName()
	bootstrap := mapping(root, "spec", "bootstrap")
	owner := "initdb"
	for _, method := range []string{"recovery", "pg_basebackup"} {
		if mapping(bootstrap, method) != nil {
			owner = method
		}
	}
	if text(bootstrap, owner, "secret", "name") == "" && (owner == "initdb" || text(bootstrap, owner, "database") != "") {
		add(secretKey(ns, name+"-app"))
	}
	if truth(root, "spec", "enableSuperuserAccess") && text(root, "spec", "superuserSecret", "name") == "" {
		add(secretKey(ns, name+"-superuser"))
	}
	for field, suffix := range map[string]string{"serverCASecret": "-ca", "serverTLSSecret": "-server", "replicationTLSSecret": "-replication"} {
		if text(root, "spec", "certificates", field) == "" {
			add(secretKey(ns, name+suffix))
		}
	}
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func providesConfigMap(o object, add func(key)) {
	if o.is("", "ConfigMap") {
		add(configMapKey(o.namespace(), o.GetName()))
	}
}

// secretsOfPods: env, envFrom, volumes and projected volumes; not what is
// optional.
func secretsOfPods(_ world, o object, add func(need)) {
	spec, path := podSpec(o)
	if spec == nil {
		return
	}
	ns, strength := o.namespace(), podStrength(o)
	secret := func(name, field string) {
		add(need{key: secretKey(ns, name), field: field, strength: strength, verb: "reads Secret " + ns + "/" + name})
	}
	config := func(name, field string) {
		add(need{key: configMapKey(ns, name), field: field, strength: strength, verb: "reads ConfigMap " + ns + "/" + name})
	}
	refs := func(m map[string]any, path, secretField, secretName, configField string) {
		if ref := mapping(m, secretField); ref != nil && !truth(ref, "optional") {
			secret(text(ref, secretName), path+"."+secretField+"."+secretName)
		}
		if ref := mapping(m, configField); ref != nil && !truth(ref, "optional") {
			config(text(ref, "name"), path+"."+configField+".name")
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
	each(list(spec, "volumes"), path+".volumes", func(v map[string]any, path string) {
		refs(v, path, "secret", "secretName", "configMap")
		each(list(v, "projected", "sources"), path+".projected.sources", func(s map[string]any, path string) {
			refs(s, path, "secret", "name", "configMap")
		})
		if ref := text(v, "csi", "nodePublishSecretRef", "name"); ref != "" {
			secret(ref, path+".csi.nodePublishSecretRef.name")
		}
	})
	// The kubelet pulls without a pull secret that is not there.
	each(list(spec, "imagePullSecrets"), path+".imagePullSecrets", func(ref map[string]any, path string) {
		name := text(ref, "name")
		add(need{key: secretKey(ns, name), field: path + ".name", strength: plan.Soft, verb: "pulls images with Secret " + ns + "/" + name})
	})
}

// gatewayCertificates visits the certificate references of a Gateway.
func gatewayCertificates(o object, visit func(ref map[string]any, path string)) {
	each(list(o.Object.Object, "spec", "listeners"), "spec.listeners", func(l map[string]any, path string) {
		each(list(l, "tls", "certificateRefs"), path+".tls.certificateRefs", func(ref map[string]any, path string) {
			if kind := text(ref, "kind"); (kind == "" || kind == "Secret") && text(ref, "group") == "" {
				visit(ref, path)
			}
		})
	})
}

// secretsOfRoutes: TLS of an Ingress, which serves a default certificate until
// it is there, and of a Gateway's listeners, which do not come up without.
func secretsOfRoutes(_ world, o object, add func(need)) {
	ns := o.namespace()
	switch {
	case o.is("networking.k8s.io", "Ingress"):
		each(list(o.Object.Object, "spec", "tls"), "spec.tls", func(tls map[string]any, path string) {
			name := text(tls, "secretName")
			add(need{key: secretKey(ns, name), field: path + ".secretName", strength: plan.Soft, verb: "serves TLS with Secret " + ns + "/" + name})
		})
	case o.is("gateway.networking.k8s.io", "Gateway"):
		gatewayCertificates(o, func(ref map[string]any, path string) {
			target, name := either(text(ref, "namespace"), ns), text(ref, "name")
			add(need{key: secretKey(target, name), field: path + ".name", strength: plan.Hard, verb: "serves TLS with Secret " + target + "/" + name})
		})
	}
}

// secretsOfStores: what a SecretStore authenticates with.
func secretsOfStores(_ world, o object, add func(need)) {
	if !o.is("external-secrets.io", "SecretStore", "ClusterSecretStore") {
		return
	}
	everywhere(mapping(o.Object.Object, "spec", "provider"), "spec.provider", "", func(m map[string]any, path, field string) {
		name := text(m, "name")
		if name == "" {
			return
		}
		// A store of the cluster reads in the namespace it names, and without
		// one in that of whoever uses it.
		ns := text(m, "namespace")
		if o.GetKind() == "SecretStore" {
			ns = o.namespace()
		}
		if ns == "" {
			return
		}
		lower := strings.ToLower(field)
		switch {
		case strings.HasSuffix(lower, "secretref") || lower == "caprovider" && text(m, "type") == "Secret" || strings.HasSuffix(lower, "secretsecretref") ||
			lower == "accesskeyidsecretref" || lower == "secretaccesskeysecretref":
			add(need{key: secretKey(ns, name), field: path + ".name", strength: plan.Hard, verb: "authenticates with Secret " + ns + "/" + name})
		case lower == "caprovider" && text(m, "type") == "ConfigMap":
			add(need{key: configMapKey(ns, name), field: path + ".name", strength: plan.Hard, verb: "trusts ConfigMap " + ns + "/" + name})
		case lower == "serviceaccountref":
			add(need{key: serviceAccountKey(ns, name), field: path + ".name", strength: plan.Hard, verb: "authenticates as ServiceAccount " + ns + "/" + name})
		}
	})
}
