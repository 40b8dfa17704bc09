package infer

import "github.com/rollout-ladder/ladder/internal/plan"

// Secret stores: an ExternalSecret becomes Ready only while its store is.

func storeKey(kind, ns, name string) key {
	if kind == "ClusterSecretStore" {
		return key{Kind: kindClusterSecretStore, Name: name}
	}
	return key{Kind: kindSecretStore, Namespace: ns, Name: name}
}

func providesStore(o object, add func(key)) {
	if o.is("external-secrets.io", "SecretStore", "ClusterSecretStore") {
		add(storeKey(o.GetKind(), o.namespace(), o.GetName()))
	}
}

func requiresStore(_ world, o object, add func(need)) {
	store := func(ref map[string]any, path string) {
		name, kind := text(ref, "name"), either(text(ref, "kind"), "SecretStore")
		if name == "" || kind != "SecretStore" && kind != "ClusterSecretStore" {
			return
		}
		add(need{key: storeKey(kind, o.namespace(), name), field: path + ".name", strength: plan.Hard, verb: "reads from " + kind + " " + name})
	}
	root := o.Object.Object
	spec := func(m map[string]any, path string) {
		store(mapping(m, "secretStoreRef"), path+".secretStoreRef")
		for _, field := range []string{"data", "dataFrom"} {
			each(list(m, field), path+"."+field, func(d map[string]any, path string) {
				store(mapping(d, "sourceRef", "storeRef"), path+".sourceRef.storeRef")
			})
		}
	}
	switch {
	case o.is("external-secrets.io", "ExternalSecret"):
		spec(mapping(root, "spec"), "spec")
	case o.is("external-secrets.io", "ClusterExternalSecret"):
		// Its stores are looked up where it puts its ExternalSecrets: only
		// those of the cluster are certain.
		m := mapping(root, "spec", "externalSecretSpec")
		if text(m, "secretStoreRef", "kind") == "ClusterSecretStore" {
			spec(m, "spec.externalSecretSpec")
		}
	case o.is("external-secrets.io", "PushSecret"):
		each(list(root, "spec", "secretStoreRefs"), "spec.secretStoreRefs", store)
	}
}
