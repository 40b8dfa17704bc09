package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// secretsOfResources: fields of custom resources that name Secrets.
func secretsOfResources(_ *world, o *object, add func(need)) {
	if !customGroup(o.g) {
		return
	}
	kind := operators.Of(o.g, o.k)
	for _, r := range kind.Reads {
		follow(o.root(), strings.Split(either(r.Secret, r.ConfigMap), "."), "", func(name, field string, beside map[string]any) {
			ns := o.namespace()
			if r.Namespace != "" {
				ns = either(text(beside, r.Namespace), ns)
			}
			n := need{key: secretKey(ns, name), field: field, strength: plan.Hard, effect: dependency.Ready, verb: "needs Secret " + ns + "/" + name, anyNamespace: kind.Elsewhere}
			switch {
			case kind.Elsewhere:
				n.key.Namespace, n.verb = "", "needs Secret "+name
			case r.ConfigMap != "":
				n.key, n.verb = configMapKey(ns, name), "needs ConfigMap "+ns+"/"+name
			}
			if r.Soft {
				n.strength = plan.Soft
			}
			add(n)
		})
	}
	if ref := mapping(o.root(), "spec", "credentials", "secretRef"); ref != nil && strings.HasSuffix(o.k, "ProviderConfig") { // Crossplane
		ns, name := either(text(ref, "namespace"), o.namespace()), text(ref, "name")
		if ns != "" {
			add(need{key: secretKey(ns, name), field: "spec.credentials.secretRef.name", strength: plan.Soft, effect: dependency.Ready, verb: "needs Secret " + ns + "/" + name})
		}
	}
}

// passing are the groups whose resources pass what has the form of the environment of a
// pod on to their pods, or read it themselves, all in their own namespace.
var passing = []string{"grafana.integreatly.org", "k8s.keycloak.org", "kafka.strimzi.io", "minio.min.io", "monitoring.coreos.com", "opentelemetry.io",
	"operator.victoriametrics.com", "postgresql.cnpg.io"}

// valuesOfResources: the keys that such a resource takes by valueFrom.
func valuesOfResources(_ *world, o *object, add func(need)) {
	ns := o.namespace()
	if ns == "" || !slices.Contains(passing, o.g) || injected(o) {
		return
	}
	everywhere(o.root()["spec"], "spec", "", func(m map[string]any, path, field string) {
		if field != valueFrom {
			return
		}
		for _, kind := range []string{kindSecret, kindConfigMap} {
			ref := map[string]string{kindSecret: "secretKeyRef", kindConfigMap: "configMapKeyRef"}[kind]
			if from := mapping(m, ref); from != nil && !truth(from, "optional") {
				name := text(from, "name")
				add(need{key: key{Kind: kind, Namespace: ns, Name: name}, parts: keysIn(from, path+"."+ref), field: path + "." + ref + ".name",
					strength: plan.Soft, effect: dependency.Ready, verb: "reads " + judged[kind].kind + " " + ns + "/" + name, hint: true})
			}
		}
	})
}

// injected reports whether the environment of a resource goes into the pods of others, in
// the namespaces of those. Source: the OpenTelemetry Operator.
func injected(o *object) bool {
	return o.is("opentelemetry.io", "Instrumentation") ||
		o.is("opentelemetry.io", "OpenTelemetryCollector") && text(o.root(), "spec", "mode") == "sidecar"
}

// valueFrom is the field that takes a value from a key of a Secret or ConfigMap.
const valueFrom = "valueFrom"

// secretsOfVolumes: what the driver of a class or volume authenticates with.
// Source: Kubernetes CSI, "Secrets and Credentials".
func secretsOfVolumes(_ *world, o *object, add func(need)) {
	soft := func(ns, name, field string) {
		if ns != "" {
			add(need{key: secretKey(ns, name), field: field, strength: plan.Soft, effect: dependency.Ready, verb: "authenticates with Secret " + ns + "/" + name})
		}
	}
	switch {
	case o.is("storage.k8s.io", "StorageClass"):
		parameters := mapping(o.root(), "parameters")
		for _, name := range sortedKeys(parameters) {
			if use, ok := strings.CutSuffix(name, "-secret-name"); ok && strings.HasPrefix(name, "csi.storage.k8s.io/") {
				soft(text(parameters, use+"-secret-namespace"), text(parameters, name), "parameters."+name)
			}
		}
	case o.is("", "PersistentVolume"):
		csi := mapping(o.root(), "spec", "csi")
		for _, field := range []string{"controllerExpandSecretRef", "controllerPublishSecretRef", "nodeExpandSecretRef", "nodePublishSecretRef", "nodeStageSecretRef"} {
			soft(text(csi, field, "namespace"), text(csi, field, "name"), "spec.csi."+field+".name")
		}
	}
}

// follow visits the texts at a path; "[]" stands for all entries of a list and
// "*" for all fields. beside is the mapping that holds the text.
func follow(v any, path []string, at string, visit func(name, field string, beside map[string]any)) {
	followIn(v, nil, path, at, visit)
}

func followIn(v any, beside map[string]any, path []string, at string, visit func(name, field string, beside map[string]any)) {
	if len(path) == 0 {
		if name, ok := v.(string); ok && name != "" {
			visit(name, at, beside)
		}
		return
	}
	switch path[0] {
	case "[]":
		entries, _ := v.([]any)
		for i, e := range entries {
			followIn(e, beside, path[1:], at+bracket(i), visit)
		}
	case "*":
		m, _ := v.(map[string]any)
		for _, k := range sortedKeys(m) {
			followIn(m[k], m, path[1:], join(at, k), visit)
		}
	default:
		if m, ok := v.(map[string]any); ok {
			followIn(m[path[0]], m, path[1:], join(at, path[0]), visit)
		}
	}
}
