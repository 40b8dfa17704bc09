package infer

// ServiceAccounts: no pod is created before its ServiceAccount exists.

func serviceAccountKey(ns, name string) key {
	return key{Kind: kindServiceAccount, Namespace: ns, Name: name}
}

func providesServiceAccount(o object, add func(key)) {
	if o.is("", "ServiceAccount") {
		add(serviceAccountKey(o.namespace(), o.GetName()))
	}
}

func requiresServiceAccount(_ world, o object, add func(need)) {
	spec, path := podSpec(o)
	field := "serviceAccountName"
	name := text(spec, field)
	if name == "" {
		field = "serviceAccount" // the older name of the field
		name = text(spec, field)
	}
	if name != "" {
		add(need{key: serviceAccountKey(o.namespace(), name), field: path + "." + field, strength: podStrength(o),
			verb: "runs as ServiceAccount " + o.namespace() + "/" + name})
	}
}
