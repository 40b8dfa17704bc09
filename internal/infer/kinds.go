package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// Custom kinds: an object cannot be applied before its kind is known.

func kindKey(group, kind string) key { return key{Kind: kindKind, Name: group + "/" + kind} }

// providesKind: a CustomResourceDefinition, and a Crossplane definition, from
// which Crossplane makes one.
func providesKind(o object, add func(key)) {
	if crd, ok := manifest.ReadCRD(o.Unstructured); ok {
		add(kindKey(crd.Group, crd.Kind))
		add(key{Kind: kindCRD, Name: o.GetName()})
		return
	}
	if o.is("apiextensions.crossplane.io", "CompositeResourceDefinition") {
		group := text(o.Object.Object, "spec", "group")
		for _, names := range []string{"names", "claimNames"} {
			kind, plural := text(o.Object.Object, "spec", names, "kind"), text(o.Object.Object, "spec", names, "plural")
			if group == "" || kind == "" {
				continue
			}
			add(kindKey(group, kind))
			if plural != "" {
				add(key{Kind: kindCRD, Name: plural + "." + group})
			}
		}
	}
}

func requiresKind(_ world, o object, add func(need)) {
	if group := o.group(); strings.Contains(group, ".") && !builtinGroup(group) {
		add(need{key: kindKey(group, o.GetKind()), field: "apiVersion", strength: plan.Hard,
			verb: "is of kind " + o.GetKind() + " of " + group})
	}
}

// builtinGroup reports whether a group is Kubernetes' own. Custom groups below
// k8s.io exist (gateway.networking.k8s.io, snapshot.storage.k8s.io), so the
// groups are listed.
func builtinGroup(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
		"scheduling.k8s.io", "storage.k8s.io":
		return true
	}
	return false
}
