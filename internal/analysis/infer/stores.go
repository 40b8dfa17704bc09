package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Secret stores: an ExternalSecret becomes Ready only while its store is.

func storeKey(kind, ns, name string) key {
	if kind == "ClusterSecretStore" {
		return key{Kind: kindClusterSecretStore, Name: name}
	}
	return key{Kind: kindSecretStore, Namespace: ns, Name: name}
}

func providesStore(o *object, add func(key)) {
	switch {
	case o.is("external-secrets.io", "SecretStore", "ClusterSecretStore"):
		add(storeKey(o.k, o.namespace(), o.name))
	case o.g == generators:
		add(instanceKey(generators, o.k, o.namespace(), o.name))
	}
}

// generators is the group of what an ExternalSecret can read from instead of a
// store. Source: External Secrets Operator, "Generators".
const generators = "generators.external-secrets.io"

func requiresStore(_ *world, o *object, add func(need)) {
	if o.g != "external-secrets.io" {
		return
	}
	store := func(ref map[string]any, path string) {
		name, kind := text(ref, "name"), either(text(ref, "kind"), "SecretStore")
		if name == "" || kind != "SecretStore" && kind != "ClusterSecretStore" {
			return
		}
		add(need{key: storeKey(kind, o.namespace(), name), field: path + ".name", strength: plan.Hard, effect: dependency.Ready,
			verb: "reads from " + kind + " " + name, absent: true})
	}
	root := o.root()
	spec := func(m map[string]any, path string) {
		store(mapping(m, "secretStoreRef"), path+".secretStoreRef")
		for _, field := range []string{"data", "dataFrom"} {
			each(list(m, field), path+"."+field, func(d map[string]any, path string) {
				store(mapping(d, "sourceRef", "storeRef"), path+".sourceRef.storeRef")
				ref := mapping(d, "sourceRef", "generatorRef")
				kind, name, ns := text(ref, "kind"), text(ref, "name"), o.namespace()
				if kind == "ClusterGenerator" {
					ns = ""
				}
				if kind != "" && o.k == "ExternalSecret" {
					add(need{key: instanceKey(generators, kind, ns, name), field: path + ".sourceRef.generatorRef.name", strength: plan.Hard, effect: dependency.Ready,
						verb: "reads from " + kind + " " + name, static: true}) // what it generates, it does when it is asked
				}
			})
		}
	}
	switch o.k {
	case "ExternalSecret":
		spec(mapping(root, "spec"), "spec")
	case "ClusterExternalSecret":
		// Its stores are looked up where it puts its ExternalSecrets: only
		// those of the cluster are certain.
		m := mapping(root, "spec", "externalSecretSpec")
		if text(m, "secretStoreRef", "kind") == "ClusterSecretStore" {
			spec(m, "spec.externalSecretSpec")
		}
	case "PushSecret":
		each(list(root, "spec", "secretStoreRefs"), "spec.secretStoreRefs", store)
		if name := text(root, "spec", "selector", "secret", "name"); name != "" {
			add(need{key: secretKey(o.namespace(), name), field: "spec.selector.secret.name", strength: plan.Hard, effect: dependency.Ready,
				verb: "pushes Secret " + o.namespace() + "/" + name})
		}
	}
}

// secretsOfStores: what a SecretStore authenticates with.
func secretsOfStores(_ *world, o *object, add func(need)) {
	if !o.is("external-secrets.io", "SecretStore", "ClusterSecretStore") {
		return
	}
	everywhere(mapping(o.root(), "spec", "provider"), "spec.provider", "", func(m map[string]any, path, field string) {
		name := text(m, "name")
		if name == "" {
			return
		}
		// A store of the cluster reads in the namespace it names, and without
		// one in that of whoever uses it.
		ns := text(m, "namespace")
		if o.k == "SecretStore" {
			ns = o.namespace()
		}
		if ns == "" {
			return
		}
		lower := strings.ToLower(field)
		n := need{field: path + ".name", strength: plan.Hard, effect: dependency.Ready, absent: true}
		switch {
		case strings.HasSuffix(lower, "secretref") || lower == "caprovider" && text(m, "type") == "Secret":
			n.key, n.verb = secretKey(ns, name), "authenticates with Secret "+ns+"/"+name
		case lower == "caprovider" && text(m, "type") == "ConfigMap":
			n.key, n.verb = configMapKey(ns, name), "trusts ConfigMap "+ns+"/"+name
		case lower == "serviceaccountref", lower == "serviceaccount" && strings.HasPrefix(path, "spec.provider.kubernetes.auth."):
			n.key, n.verb = serviceAccountKey(ns, name), "authenticates as ServiceAccount "+ns+"/"+name
		default:
			return
		}
		add(n)
	})
}
