package infer

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Parameters: what a class or a Gateway is set up with, in an object of a kind of
// its controller. A class whose parameters are missing is not accepted. Source:
// Gateway API, "GatewayClass", GatewayClass.spec.parametersRef and
// Gateway.spec.infrastructure.parametersRef; Kubernetes, "Ingress", "Ingress class
// scope".

// parameterKinds are the kinds that controllers take parameters from, by
// "group/Kind". Source: the documentation of each controller.
var parameterKinds = []string{
	"cilium.io/CiliumGatewayClassConfig", "gateway.envoyproxy.io/EnvoyProxy", "gateway.nginx.org/NginxProxy", "gateway.kgateway.dev/GatewayParameters",
	"agentgateway.dev/AgentgatewayParameters", "gateway.gloo.solo.io/GatewayParameters", "gateway.k8s.aws/LoadBalancerConfiguration",
	"gateway-operator.konghq.com/GatewayConfiguration", "projectcontour.io/ContourDeployment", "consul.hashicorp.com/GatewayClassConfig",
	"elbv2.k8s.aws/IngressClassParams", "eks.amazonaws.com/IngressClassParams", "configuration.konghq.com/IngressClassParameters",
}

func parametersKey(group, kind, ns, name string) key {
	return key{Kind: kindParameters + group + "/" + kind, Namespace: ns, Name: name}
}

func providesParameters(o *object, add func(key)) {
	if customGroup(o.g) && slices.Contains(parameterKinds, o.g+"/"+o.k) {
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
