package infer

import (
	"net/url"
	"strings"

	"github.com/rollout-ladder/ladder/internal/plan"
)

// Services, where a resource cannot become Ready without the one it names.

func serviceKey(ns, name string) key { return key{Kind: kindService, Namespace: ns, Name: name} }

func providesService(o object, add func(key)) {
	if o.is("", "Service") {
		add(serviceKey(o.namespace(), o.GetName()))
	}
}

// requiresService: a secret store in Vault is Ready only while Vault answers,
// and an APIService only while its Service does.
func requiresService(_ world, o object, add func(need)) {
	root := o.Object.Object
	switch {
	case o.is("external-secrets.io", "SecretStore", "ClusterSecretStore"):
		name, ns, ok := clusterHost(text(root, "spec", "provider", "vault", "server"))
		if ok {
			add(need{key: serviceKey(ns, name), field: "spec.provider.vault.server", strength: plan.Hard, verb: "talks to Service " + ns + "/" + name})
		}
	case o.is("apiregistration.k8s.io", "APIService"):
		if ref := mapping(root, "spec", "service"); ref != nil {
			name, ns := text(ref, "name"), text(ref, "namespace")
			add(need{key: serviceKey(ns, name), field: "spec.service", strength: plan.Hard, verb: "is served by Service " + ns + "/" + name})
		}
	}
}

// clusterHost reads "http://name.namespace.svc:port" and its shorter and longer
// forms. A host without a namespace, or one outside the cluster, is not ok.
func clusterHost(address string) (name, ns string, ok bool) {
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
