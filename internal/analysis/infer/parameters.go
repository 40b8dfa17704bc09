package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// Parameters: what a class or a Gateway is set up with, in an object of a kind of
// its controller. A class whose parameters are missing is not accepted. Source:
// Gateway API, "GatewayClass", GatewayClass.spec.parametersRef and
// Gateway.spec.infrastructure.parametersRef; Kubernetes, "Ingress", "Ingress class
// scope".

func parametersKey(group, kind, ns, name string) key {
	return key{Kind: kindParameters + group + "/" + kind, Namespace: ns, Name: name}
}

func providesParameters(o *object, add func(key)) {
	if !customGroup(o.g) {
		return
	}
	switch operators.Of(o.g, o.k).Parameters {
	case operators.Cluster:
		add(parametersKey(o.g, o.k, "", o.name))
	case operators.Namespaced:
		add(parametersKey(o.g, o.k, o.namespace(), o.name))
	}
}

func requiresParameters(_ *world, o *object, add func(need)) {
	var ref map[string]any
	n := need{strength: plan.Hard, effect: dependency.Ready, static: true}
	group := "group"
	switch {
	case o.is("gateway.networking.k8s.io", "GatewayClass"):
		ref, n.field = mapping(o.root(), "spec", "parametersRef"), "spec.parametersRef.name"
	case o.is("gateway.networking.k8s.io", "Gateway"):
		ref, n.field = mapping(o.root(), "spec", "infrastructure", "parametersRef"), "spec.infrastructure.parametersRef.name"
	case o.is("networking.k8s.io", "IngressClass"):
		ref, n.field, group = mapping(o.root(), "spec", "parameters"), "spec.parameters.name", "apiGroup"
		n.strength, n.hint = plan.Soft, true // it has no health
	}
	name, kind := text(ref, "name"), text(ref, "kind")
	if name == "" || kind == "" {
		return
	}
	// A Gateway refers to its own namespace; the others say which, where the kind
	// has one.
	ns := either(text(ref, "namespace"), o.namespace())
	if of := text(ref, group); of != "" {
		n.key = parametersKey(of, kind, ns, name)
	} else if kind == "ConfigMap" && ns != "" {
		n.key = configMapKey(ns, name)
	} else {
		return
	}
	n.verb = "takes its parameters from " + kind + " " + name
	add(n)
}
