package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Classes and gateways: named by those that want to be served by them.

func providesClass(o *object, add func(key)) {
	var kind string
	switch o.g + "/" + o.k {
	case "networking.k8s.io/IngressClass":
		kind = kindIngressClass
	case "gateway.networking.k8s.io/GatewayClass":
		kind = kindGatewayClass
	case "gateway.networking.k8s.io/Gateway":
		kind = kindGateway
	case "scheduling.k8s.io/PriorityClass":
		kind = kindPriorityClass
	case "node.k8s.io/RuntimeClass":
		kind = kindRuntimeClass
	default:
		return
	}
	add(key{Kind: kind, Namespace: o.namespace(), Name: o.name})
}

func requiresClass(_ *world, o *object, add func(need)) {
	root := o.root()
	class := func(kind, name, field, verb string, n need) {
		n.key, n.field, n.verb = key{Kind: kind, Name: name}, field, verb+" "+name
		if name != "" {
			add(n)
		}
	}
	hard := need{strength: plan.Hard, effect: dependency.Ready, slip: true}
	switch {
	case o.is("networking.k8s.io", "Ingress"):
		class(kindIngressClass, text(root, "spec", "ingressClassName"), "spec.ingressClassName", "is served by IngressClass", hard)
	case o.is("gateway.networking.k8s.io", "Gateway"):
		class(kindGatewayClass, text(root, "spec", "gatewayClassName"), "spec.gatewayClassName", "is served by GatewayClass", hard)
	case o.is("gateway.networking.k8s.io", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"):
		each(list(root, "spec", "parentRefs"), "spec.parentRefs", func(ref map[string]any, path string) {
			kind, group := either(text(ref, "kind"), "Gateway"), either(text(ref, "group"), "gateway.networking.k8s.io")
			name, ns := text(ref, "name"), either(text(ref, "namespace"), o.namespace())
			if kind == "Gateway" && group == "gateway.networking.k8s.io" && name != "" {
				var listeners []part
				if listener := text(ref, "sectionName"); listener != "" {
					listeners = []part{{listener, path + ".sectionName"}}
				}
				add(need{key: key{Kind: kindGateway, Namespace: ns, Name: name}, field: path + ".name", parts: listeners, strength: plan.Hard, effect: dependency.Ready,
					verb: "is attached to Gateway " + ns + "/" + name, absent: true})
			}
		})
	}
	if spec, path := podSpec(o); spec != nil {
		// The admission of a pod refuses a class that is not there.
		n := need{strength: podStrength(o), effect: dependency.Ready, hint: idle(o), slip: true}
		if o.is("", "Pod") {
			n.effect = dependency.Apply
		}
		class(kindRuntimeClass, text(spec, "runtimeClassName"), path+".runtimeClassName", "has RuntimeClass", n)
		n.absent, n.slip = true, false
		class(kindPriorityClass, text(spec, "priorityClassName"), path+".priorityClassName", "has PriorityClass", n)
	}
}
