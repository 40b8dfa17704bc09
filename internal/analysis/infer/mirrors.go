package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Mirrors: Secrets and ConfigMaps that are copied into other namespaces because
// an annotation says so. Source: emberstack Reflector, mittwald
// kubernetes-replicator and Kubed (config-syncer).

const (
	reflectorAuto       = "reflector.v1.k8s.emberstack.com/reflection-auto-enabled"
	reflectorNamespaces = "reflector.v1.k8s.emberstack.com/reflection-auto-namespaces"
	reflectorSource     = "reflector.v1.k8s.emberstack.com/reflects"
	replicatorTo        = "replicator.v1.mittwald.de/replicate-to"
	replicatorMatching  = "replicator.v1.mittwald.de/replicate-to-matching"
	replicatorFrom      = "replicator.v1.mittwald.de/replicate-from"
	kubedSync           = "kubed.appscode.com/sync"
)

// mirrored returns the key of the Secret or ConfigMap that an object makes, with
// the annotations that it gets.
func mirrored(o *object) (k key, annotations map[string]any, ok bool) {
	root := o.root()
	switch {
	case o.is("", "Secret"):
		return secretKey(o.namespace(), o.name), mapping(root, "metadata", "annotations"), true
	case o.is("", "ConfigMap"):
		return configMapKey(o.namespace(), o.name), mapping(root, "metadata", "annotations"), true
	case o.is("cert-manager.io", "Certificate"):
		return secretKey(o.namespace(), text(root, "spec", "secretName")), mapping(root, "spec", "secretTemplate", "annotations"), true
	case o.is("external-secrets.io", "ExternalSecret"):
		return secretKey(o.namespace(), either(text(root, "spec", "target", "name"), o.name)), mapping(root, "spec", "target", "template", "metadata", "annotations"), true
	case o.is("bitnami.com", "SealedSecret"):
		return secretKey(o.namespace(), o.name), mapping(root, "spec", "template", "metadata", "annotations"), true
	}
	return key{}, nil, false
}

func providesMirrored(o *object, add func(key)) {
	k, annotations, ok := mirrored(o)
	if !ok || len(annotations) == 0 {
		return
	}
	to := func(text string) {
		for _, ns := range strings.Split(text, ",") {
			ns = strings.TrimSpace(ns)
			if !wellFormed(ns, false) { // all of them, or a pattern
				ns = everyNamespace
			}
			add(key{Kind: k.Kind, Namespace: ns, Name: k.Name})
		}
	}
	if text(annotations, reflectorAuto) == "true" {
		to(text(annotations, reflectorNamespaces))
	}
	for _, name := range []string{replicatorTo, replicatorMatching, kubedSync} {
		if s, ok := annotations[name].(string); ok {
			if name != replicatorTo {
				s = "" // a selector
			}
			to(s)
		}
	}
}

// requiresMirrored: a copy that names its source is empty until it is there.
func requiresMirrored(_ *world, o *object, add func(need)) {
	k, annotations, ok := mirrored(o)
	if !ok {
		return
	}
	for _, name := range []string{reflectorSource, replicatorFrom} {
		ns, source, found := strings.Cut(text(annotations, name), "/")
		if !found {
			ns, source = o.namespace(), ns
		}
		if source == "" || source == k.Name && ns == k.Namespace {
			continue
		}
		add(need{key: key{Kind: k.Kind, Namespace: ns, Name: source}, field: "metadata.annotations." + name, strength: plan.Soft, effect: dependency.Ready,
			verb: "copies " + judged[k.Kind].kind + " " + ns + "/" + source})
	}
}
