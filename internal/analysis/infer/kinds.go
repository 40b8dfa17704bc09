package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Custom kinds: an object cannot be applied before its kind is known.

func kindKey(group, kind string) key { return key{Kind: kindKind, Name: group + "/" + kind} }

// providesKind: a CustomResourceDefinition, and the objects from which an
// operator makes one.
func providesKind(o *object, add func(key)) {
	define := func(group, kind, plural string) {
		if group == "" || kind == "" {
			return
		}
		add(kindKey(group, kind))
		if plural != "" {
			add(key{Kind: kindCRD, Name: plural + "." + group})
		}
	}
	if o.g == "apiextensions.k8s.io" {
		if crd, ok := manifest.ReadCRD(o.Unstructured); ok {
			add(kindKey(crd.Group, crd.Kind))
			add(key{Kind: kindCRD, Name: o.name})
		}
		return
	}
	root := o.root()
	switch {
	case o.is("apiextensions.crossplane.io", "CompositeResourceDefinition"):
		group := text(root, "spec", "group")
		for _, names := range []string{"names", "claimNames"} {
			define(group, text(root, "spec", names, "kind"), text(root, "spec", names, "plural"))
		}
	case o.is("templates.gatekeeper.sh", "ConstraintTemplate"): // Source: Gatekeeper, "Constraint Templates"
		define("constraints.gatekeeper.sh", text(root, "spec", "crd", "spec", "names", "kind"), "")
	case o.is("kro.run", "ResourceGraphDefinition"): // Source: kro, "ResourceGraphDefinition"
		define(either(text(root, "spec", "schema", "group"), "kro.run"), text(root, "spec", "schema", "kind"), "")
	case o.is("pkg.crossplane.io", "Provider"):
		name := packageName(text(root, "spec", "package"))
		add(key{Kind: kindPackage, Name: name})
		if skips, _ := mapping(root, "spec")["skipDependencyResolution"].(bool); !skips {
			if family := familyOf(name); family != "" {
				add(key{Kind: kindPackage, Name: family})
			}
		}
	}
}

func requiresKind(w *world, o *object, add func(need)) {
	if !customGroup(o.g) || w.openShift && comesWithOpenShift(o.g) || ownKind(o.g, o.k) || o.Guarded {
		return // its kind is there, or its template waits for it
	}
	n := need{key: kindKey(o.g, o.k), field: "apiVersion", strength: plan.Hard, effect: dependency.Apply,
		verb: "is of kind " + o.k + " of " + o.g, absent: !sharedGroup(o.g)}
	n.or = append([]key{kindKey(o.g, "*")}, packagesOf(o.g)...)
	n.or = append(n.or, key{Kind: kindAPIService, Name: o.g})
	add(n)
}

// ownKind reports whether a kind comes with Argo CD, which applies everything.
func ownKind(group, kind string) bool {
	return group == "argoproj.io" && (kind == "Application" || kind == "ApplicationSet" || kind == "AppProject")
}

// customGroup reports whether the kinds of a group need a CRD.
func customGroup(group string) bool { return strings.Contains(group, ".") && !builtinGroup(group) }

// builtinGroup reports whether a group is Kubernetes' own. Custom groups below
// k8s.io exist (gateway.networking.k8s.io, snapshot.storage.k8s.io), so the
// groups are listed.
func builtinGroup(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
		"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io":
		return true
	}
	return false
}
