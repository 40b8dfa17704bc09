package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// ServiceAccounts: no pod is created before its ServiceAccount exists.

func serviceAccountKey(ns, name string) key {
	return key{Kind: kindServiceAccount, Namespace: ns, Name: name}
}

func providesServiceAccount(o *object, add func(key)) {
	if o.is("", "ServiceAccount") {
		add(serviceAccountKey(o.namespace(), o.name))
	}
}

func requiresServiceAccount(_ *world, o *object, add func(need)) {
	if o.is("", "Secret") && text(o.root(), "type") == "kubernetes.io/service-account-token" {
		const annotation = "kubernetes.io/service-account.name"
		name := text(o.root(), "metadata", "annotations", annotation)
		add(need{key: serviceAccountKey(o.namespace(), name), field: "metadata.annotations." + annotation, strength: plan.Soft, effect: dependency.Ready,
			verb: "is the token of ServiceAccount " + o.namespace() + "/" + name})
		return
	}
	if path := operators.Of(o.g, o.k).Account; path != "" {
		name := text(o.root(), strings.Split(path, ".")...)
		if text(o.root(), "spec", "mode") == "sidecar" {
			return // a collector that has no pods of its own
		}
		add(need{key: serviceAccountKey(o.namespace(), name), field: path, strength: podStrength(o), effect: dependency.Ready,
			verb: "runs as ServiceAccount " + o.namespace() + "/" + name, absent: true, hint: idle(o)})
		return
	}
	spec, path := podSpec(o)
	if spec == nil {
		return
	}
	field := "serviceAccountName"
	name := text(spec, field)
	if name == "" {
		field = "serviceAccount" // the older name of the field
		name = text(spec, field)
	}
	effect := dependency.Ready
	if o.is("", "Pod") {
		effect = dependency.Apply // the admission of the pod itself refuses
	}
	add(need{key: serviceAccountKey(o.namespace(), name), field: path + "." + field, strength: podStrength(o), effect: effect,
		verb: "runs as ServiceAccount " + o.namespace() + "/" + name, absent: true, hint: idle(o)})
}

// Roles: a binding can name a role that comes later, and gives nothing until then.

func providesRole(o *object, add func(key)) {
	if o.g != "rbac.authorization.k8s.io" {
		return
	}
	switch o.k {
	case "ClusterRole":
		add(key{Kind: kindClusterRole, Name: o.name})
	case "Role":
		add(key{Kind: kindRole, Namespace: o.namespace(), Name: o.name})
	}
}

func requiresRole(_ *world, o *object, add func(need)) {
	if !o.is("rbac.authorization.k8s.io", "RoleBinding", "ClusterRoleBinding") {
		return
	}
	kind, name := text(o.root(), "roleRef", "kind"), text(o.root(), "roleRef", "name")
	k := key{Kind: kindClusterRole, Name: name}
	if kind == "Role" {
		k = key{Kind: kindRole, Namespace: o.namespace(), Name: name}
	}
	if strings.HasPrefix(name, "system:") {
		return
	}
	add(need{key: k, field: "roleRef.name", strength: plan.Soft, effect: dependency.Ready, verb: "binds " + kind + " " + name})
}
