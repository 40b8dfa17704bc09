package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Parameters: what a class or a Gateway is set up with, in an object of a kind of
// its controller. A class whose parameters are missing is not accepted. Source:
// Gateway API, "GatewayClass", GatewayClass.spec.parametersRef and
// Gateway.spec.infrastructure.parametersRef; Kubernetes, "Ingress", "Ingress class
// scope".

// parameterScope is of the kinds that controllers take parameters from, by
// "group/Kind": true where they have no namespace. Source: the documentation of
// each controller.
var parameterScope = map[string]bool{
	"cilium.io/CiliumGatewayClassConfig":               false,
	"gateway.envoyproxy.io/EnvoyProxy":                 false,
	"gateway.nginx.org/NginxProxy":                     false,
	"gateway.kgateway.dev/GatewayParameters":           false,
	"agentgateway.dev/AgentgatewayParameters":          false,
	"gateway.gloo.solo.io/GatewayParameters":           false,
	"gateway.k8s.aws/LoadBalancerConfiguration":        false,
	"gateway-operator.konghq.com/GatewayConfiguration": false,
	"projectcontour.io/ContourDeployment":              false,
	"consul.hashicorp.com/GatewayClassConfig":          true,
	"elbv2.k8s.aws/IngressClassParams":                 true,
	"eks.amazonaws.com/IngressClassParams":             true,
	"configuration.konghq.com/IngressClassParameters":  false,
}

func parametersKey(group, kind, ns, name string) key {
	return key{Kind: kindParameters + group + "/" + kind, Namespace: ns, Name: name}
}

func providesParameters(o *object, add func(key)) {
	if !customGroup(o.g) {
		return
	}
	if cluster, known := parameterScope[o.g+"/"+o.k]; cluster {
		add(parametersKey(o.g, o.k, "", o.name))
	} else if known {
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
