package infer

import (
	"net/url"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Services, where a resource cannot become Ready without the one it names.

// addressNeedsService are the Ingress classes whose controllers make a load balancer
// of an Ingress only when its Services are there: without an address it is not
// Healthy. Source: kubernetes-sigs/aws-load-balancer-controller, "Failed build model
// due to" and "Ingress annotations", actions; kubernetes/ingress-gce, translator; tailscale/tailscale, "NoValidBackends".
var addressNeedsService = map[string]bool{"alb": true, "gce": true, "gce-internal": true, "tailscale": true}

func serviceKey(ns, name string) key { return key{Kind: kindService, Namespace: ns, Name: name} }

func providesService(o *object, add func(key)) {
	if o.is("", "Service") {
		add(serviceKey(o.namespace(), o.name))
	}
}

func requiresService(_ *world, o *object, add func(need)) {
	root := o.root()
	service := func(ns, name, field, verb string, strength plan.Strength) {
		if name != "" && ns != "" {
			// What is soft here is Healthy without its Service: an Ingress answers
			// with an error until then. What routes needs the Service, and no pods behind it.
			routes := strings.HasPrefix(verb, "routes")
			add(need{key: serviceKey(ns, name), field: field, strength: strength, effect: dependency.Ready, verb: verb + " Service " + ns + "/" + name, hint: strength == plan.Soft, slip: routes, static: routes})
		}
	}
	address := func(host, field string) {
		if name, ns, ok := clusterHost(host); ok {
			service(ns, name, field, "talks to", plan.Hard)
		}
	}
	switch o.g {
	case "external-secrets.io":
		if o.k == "SecretStore" || o.k == "ClusterSecretStore" {
			address(text(root, "spec", "provider", "vault", "server"), "spec.provider.vault.server")
			address(text(root, "spec", "provider", "onepassword", "connectHost"), "spec.provider.onepassword.connectHost")
			address(text(root, "spec", "provider", "infisical", "hostAPI"), "spec.provider.infisical.hostAPI")
		}
	case "cert-manager.io":
		if o.k == "Issuer" || o.k == "ClusterIssuer" {
			address(text(root, "spec", "vault", "server"), "spec.vault.server")
			address(text(root, "spec", "acme", "server"), "spec.acme.server")
		}
	case "secrets.hashicorp.com":
		if o.k == "VaultConnection" {
			address(text(root, "spec", "address"), "spec.address")
		}
	case "apiregistration.k8s.io":
		if o.k == "APIService" {
			service(text(root, "spec", "service", "namespace"), text(root, "spec", "service", "name"), "spec.service.name", "is served by", plan.Hard)
		}
	case "gateway.networking.k8s.io":
		if !strings.HasSuffix(o.k, "Route") {
			return
		}
		// A route whose backend does not exist has ResolvedRefs False. Source:
		// Gateway API, "BackendNotFound".
		each(list(root, "spec", "rules"), "spec.rules", func(rule map[string]any, path string) {
			each(list(rule, "backendRefs"), path+".backendRefs", func(ref map[string]any, path string) {
				if either(text(ref, "kind"), "Service") == "Service" && text(ref, "group") == "" {
					service(either(text(ref, "namespace"), o.namespace()), text(ref, "name"), path+".name", "routes to", plan.Hard)
				}
			})
		})
	case "networking.k8s.io":
		if o.k != "Ingress" {
			return
		}
		strength := plan.Soft
		if addressNeedsService[either(text(root, "spec", "ingressClassName"), text(root, "metadata", "annotations", "kubernetes.io/ingress.class"))] {
			strength = plan.Hard
		}
		service(o.namespace(), text(root, "spec", "defaultBackend", "service", "name"), "spec.defaultBackend.service.name", "routes to", strength)
		each(list(root, "spec", "rules"), "spec.rules", func(rule map[string]any, path string) {
			each(list(rule, "http", "paths"), path+".http.paths", func(p map[string]any, path string) {
				if text(p, "backend", "service", "port", "name") == "use-annotation" {
					return // the name of an action, not of a Service; same source
				}
				service(o.namespace(), text(p, "backend", "service", "name"), path+".backend.service.name", "routes to", strength)
			})
		})
	case "admissionregistration.k8s.io":
		// A webhook that fails closed refuses everything while its Service is
		// not there; whoever is refused says so (webhooks.go).
		each(list(root, "webhooks"), "webhooks", func(hook map[string]any, path string) {
			if text(hook, "failurePolicy") != "Ignore" {
				s := mapping(hook, "clientConfig", "service")
				service(text(s, "namespace"), text(s, "name"), path+".clientConfig.service.name", "asks", plan.Soft)
			}
		})
	}
}

// clusterHost reads "http://name.namespace.svc:port" and its shorter and longer
// forms. A host without a namespace, or one outside the cluster, is not ok.
func clusterHost(address string) (name, ns string, ok bool) {
	if address == "" {
		return "", "", false
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", "", false
	}
	parts := strings.Split(u.Hostname(), ".")
	if len(parts) < 2 || len(parts) > 2 && parts[2] != "svc" {
		return "", "", false
	}
	return parts[0], parts[1], true
}
