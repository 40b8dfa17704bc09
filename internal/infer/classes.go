package infer

import "github.com/rollout-ladder/ladder/internal/plan"

// Classes and gateways: named by those that want to be served by them.

// classKinds are the kinds that are provided by an object of that kind.
var classKinds = []struct{ group, kind, capability string }{
	{"networking.k8s.io", "IngressClass", kindIngressClass},
	{"gateway.networking.k8s.io", "GatewayClass", kindGatewayClass},
	{"gateway.networking.k8s.io", "Gateway", kindGateway},
	{"scheduling.k8s.io", "PriorityClass", kindPriorityClass},
	{"node.k8s.io", "RuntimeClass", kindRuntimeClass},
	{"k8s.keycloak.org", "Keycloak", "keycloak"},
}

func providesClass(o object, add func(key)) {
	for _, c := range classKinds {
		if o.is(c.group, c.kind) {
			add(key{Kind: c.capability, Namespace: o.namespace(), Name: o.GetName()})
		}
	}
}

func requiresClass(_ world, o object, add func(need)) {
	root := o.Object.Object
	class := func(kind, name, field, verb string, strength plan.Strength) {
		if name != "" {
			add(need{key: key{Kind: kind, Name: name}, field: field, strength: strength, verb: verb + " " + name})
		}
	}
	switch {
	case o.is("networking.k8s.io", "Ingress"):
		class(kindIngressClass, text(root, "spec", "ingressClassName"), "spec.ingressClassName", "is served by IngressClass", plan.Hard)
	case o.is("gateway.networking.k8s.io", "Gateway"):
		class(kindGatewayClass, text(root, "spec", "gatewayClassName"), "spec.gatewayClassName", "is served by GatewayClass", plan.Hard)
	case o.is("gateway.networking.k8s.io", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"):
		each(list(root, "spec", "parentRefs"), "spec.parentRefs", func(ref map[string]any, path string) {
			kind, group := either(text(ref, "kind"), "Gateway"), either(text(ref, "group"), "gateway.networking.k8s.io")
			name, ns := text(ref, "name"), either(text(ref, "namespace"), o.namespace())
			if kind == "Gateway" && group == "gateway.networking.k8s.io" && name != "" {
				add(need{key: key{Kind: kindGateway, Namespace: ns, Name: name}, field: path + ".name", strength: plan.Hard,
					verb: "is attached to Gateway " + ns + "/" + name})
			}
		})
	}
	if spec, path := podSpec(o); spec != nil {
		class(kindPriorityClass, text(spec, "priorityClassName"), path+".priorityClassName", "has PriorityClass", podStrength(o))
		class(kindRuntimeClass, text(spec, "runtimeClassName"), path+".runtimeClassName", "has RuntimeClass", podStrength(o))
	}
}
