package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/plan"
)

// secretField is a field of a custom resource that names a Secret without which
// the resource does not become Ready.
type secretField struct {
	group, kind string
	// path to the name; "[]" goes through a list.
	path string
	// elsewhere marks a reference into a namespace that the resource does not
	// say: that of its controller.
	elsewhere bool
}

// secretFields are read from the CRDs and documentation of each operator.
var secretFields = []secretField{
	{group: "cert-manager.io", kind: "Issuer", path: "spec.ca.secretName"},
	{group: "cert-manager.io", kind: "ClusterIssuer", path: "spec.ca.secretName", elsewhere: true},
	{group: "postgresql.cnpg.io", kind: "Cluster", path: "spec.bootstrap.initdb.secret.name"},
	{group: "postgresql.cnpg.io", kind: "Cluster", path: "spec.superuserSecret.name"},
	{group: "postgresql.cnpg.io", kind: "Cluster", path: "spec.managed.roles.[].passwordSecret.name"},
	{group: "postgresql.cnpg.io", kind: "Cluster", path: "spec.externalClusters.[].password.name"},
	{group: "postgresql.cnpg.io", kind: "Cluster", path: "spec.certificates.serverTLSSecret"},
	{group: "postgresql.cnpg.io", kind: "Cluster", path: "spec.certificates.serverCASecret"},
	{group: "k8s.keycloak.org", kind: "Keycloak", path: "spec.db.usernameSecret.name"},
	{group: "k8s.keycloak.org", kind: "Keycloak", path: "spec.db.passwordSecret.name"},
	{group: "k8s.keycloak.org", kind: "Keycloak", path: "spec.http.tlsSecret"},
	{group: "k8s.keycloak.org", kind: "Keycloak", path: "spec.bootstrapAdmin.user.secret"},
	{group: "k8s.keycloak.org", kind: "KeycloakRealmImport", path: "spec.placeholders.*.secret.name"},
	{group: "databases.spotahome.com", kind: "RedisFailover", path: "spec.auth.secretPath"},
	{group: "temporal.io", kind: "TemporalCluster", path: "spec.persistence.defaultStore.passwordSecretRef.name"},
	{group: "temporal.io", kind: "TemporalCluster", path: "spec.persistence.visibilityStore.passwordSecretRef.name"},
	{group: "monitoring.coreos.com", kind: "Prometheus", path: "spec.secrets.[]"},
	{group: "monitoring.coreos.com", kind: "Alertmanager", path: "spec.configSecret"},
	{group: "monitoring.coreos.com", kind: "Alertmanager", path: "spec.secrets.[]"},
}

// secretsOfResources: fields of custom resources that name Secrets.
func secretsOfResources(_ world, o object, add func(need)) {
	for _, f := range secretFields {
		if !o.is(f.group, f.kind) {
			continue
		}
		follow(o.Object.Object, strings.Split(f.path, "."), "", func(name, field string) {
			ns := o.namespace()
			verb := "needs Secret " + ns + "/" + name
			if f.elsewhere {
				ns, verb = "", "needs Secret "+name
			}
			add(need{key: secretKey(ns, name), field: field, strength: plan.Hard, verb: verb, anyNamespace: f.elsewhere})
		})
	}
	if o.is("k8s.keycloak.org", "KeycloakRealmImport") {
		if name := text(o.Object.Object, "spec", "keycloakCRName"); name != "" {
			add(need{key: key{Kind: "keycloak", Namespace: o.namespace(), Name: name}, field: "spec.keycloakCRName", strength: plan.Hard,
				verb: "is imported into Keycloak " + name})
		}
	}
}

// follow visits the texts at a path; "[]" stands for all entries of a list and
// "*" for all fields.
func follow(v any, path []string, at string, visit func(name, field string)) {
	if len(path) == 0 {
		if name, ok := v.(string); ok && name != "" {
			visit(name, at)
		}
		return
	}
	switch path[0] {
	case "[]":
		entries, _ := v.([]any)
		for i, e := range entries {
			follow(e, path[1:], at+bracket(i), visit)
		}
	case "*":
		m, _ := v.(map[string]any)
		for _, k := range sortedKeys(m) {
			follow(m[k], path[1:], join(at, k), visit)
		}
	default:
		if m, ok := v.(map[string]any); ok {
			follow(m[path[0]], path[1:], join(at, path[0]), visit)
		}
	}
}
