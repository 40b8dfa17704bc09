package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// secretField is a field of a custom resource that names a Secret without which
// the resource does not become Ready.
type secretField struct {
	// path to the name; "[]" goes through a list, "*" through all fields.
	path string
	// elsewhere marks a reference into a namespace that the resource does not
	// say: that of its controller.
	elsewhere bool
	// soft marks what the resource becomes Ready without.
	soft bool
	// namespace is the field beside the name that says the namespace.
	namespace string
	config    bool // it is a ConfigMap
}

// secretFields are by "group/Kind", read from the CRDs and documentation of each
// operator.
var secretFields = map[string][]secretField{
	"cert-manager.io/Issuer":          issuerSecrets(false),
	"cert-manager.io/ClusterIssuer":   issuerSecrets(true),
	"cert-manager.io/Certificate":     {{path: "spec.keystores.*.passwordSecretRef.name"}},
	"postgresql.cnpg.io/Cluster":      postgresFields,
	"barmancloud.cnpg.io/ObjectStore": {{path: "spec.configuration.s3Credentials.*.name", soft: true}},
	"k8s.keycloak.org/Keycloak": {{path: "spec.db.usernameSecret.name"}, {path: "spec.db.passwordSecret.name"},
		{path: "spec.http.tlsSecret"}, {path: "spec.bootstrapAdmin.user.secret"}},
	"k8s.keycloak.org/KeycloakRealmImport":  {{path: "spec.placeholders.*.secret.name"}},
	"databases.spotahome.com/RedisFailover": {{path: "spec.auth.secretPath"}},
	"temporal.io/TemporalCluster": {{path: "spec.persistence.defaultStore.passwordSecretRef.name"},
		{path: "spec.persistence.visibilityStore.passwordSecretRef.name"}},
	"monitoring.coreos.com/Prometheus": {{path: "spec.secrets.[]"}, {path: "spec.configMaps.[]", config: true}, {path: "spec.additionalScrapeConfigs.name"},
		{path: "spec.remoteWrite.[].basicAuth.*.name", soft: true}},
	"monitoring.coreos.com/Alertmanager": {{path: "spec.configSecret"}, {path: "spec.secrets.[]"}, {path: "spec.configMaps.[]", config: true}},
	"kafka.strimzi.io/Kafka":             {{path: "spec.kafka.listeners.[].configuration.brokerCertChainAndKey.secretName"}},
	"kafka.strimzi.io/KafkaUser":         {{path: "spec.authentication.password.valueFrom.secretKeyRef.name"}},
	"kafka.strimzi.io/KafkaConnect": {{path: "spec.authentication.passwordSecret.secretName"}, {path: "spec.authentication.certificateAndKey.secretName"},
		{path: "spec.tls.trustedCertificates.[].secretName"}},
	"k8s.mariadb.com/User":                          {{path: "spec.passwordSecretKeyRef.name"}},
	"mongodbcommunity.mongodb.com/MongoDBCommunity": {{path: "spec.users.[].passwordSecretRef.name"}},
	"keda.sh/TriggerAuthentication":                 {{path: "spec.secretTargetRef.[].name", soft: true}},
	"minio.min.io/Tenant":                           {{path: "spec.configuration.name"}, {path: "spec.users.[].name"}},
	"velero.io/BackupStorageLocation":               {{path: "spec.credential.name", soft: true}},
	"traefik.io/Middleware":                         {{path: "spec.basicAuth.secret", soft: true}, {path: "spec.digestAuth.secret", soft: true}},
	"secrets.hashicorp.com/VaultConnection":         {{path: "spec.caCertSecretRef"}},
	"secrets.hashicorp.com/VaultAuth":               {{path: "spec.appRole.secretRef"}, {path: "spec.jwt.secretRef"}},
	"k8s.bitwarden.com/BitwardenSecret":             {{path: "spec.authToken.secretName"}},
	"secrets.doppler.com/DopplerSecret":             {{path: "spec.tokenSecret.name", namespace: "namespace"}},
	"secrets.infisical.com/InfisicalSecret":         {{path: "spec.authentication.*.credentialsRef.secretName", namespace: "secretNamespace"}, {path: "spec.authentication.*.serviceTokenSecretReference.secretName", namespace: "secretNamespace"}},
}

// issuerSecrets: a CA or Vault issuer is Ready only with its Secret; an ACME
// issuer is without what its solvers need. Source: cert-manager, "Issuer
// configuration"; a ClusterIssuer reads in cert-manager's own namespace.
func issuerSecrets(cluster bool) []secretField {
	out := []secretField{{path: "spec.ca.secretName"}, {path: "spec.vault.auth.tokenSecretRef.name"}, {path: "spec.vault.auth.appRole.secretRef.name"},
		{path: "spec.vault.caBundleSecretRef.name"}, {path: "spec.venafi.tpp.credentialsRef.name"}, {path: "spec.venafi.cloud.apiTokenSecretRef.name"},
		{path: "spec.acme.externalAccountBinding.keySecretRef.name"}}
	for _, solver := range []string{"cloudflare.apiTokenSecretRef", "cloudflare.apiKeySecretRef", "route53.accessKeyIDSecretRef", "route53.secretAccessKeySecretRef",
		"cloudDNS.serviceAccountSecretRef", "azureDNS.clientSecretSecretRef", "digitalocean.tokenSecretRef", "rfc2136.tsigSecretSecretRef",
		"acmeDNS.accountSecretRef", "akamai.clientTokenSecretRef", "akamai.clientSecretSecretRef", "akamai.accessTokenSecretRef"} {
		out = append(out, secretField{path: "spec.acme.solvers.[].dns01." + solver + ".name", soft: true})
	}
	for i := range out {
		out[i].elsewhere = cluster
	}
	return out
}

// secretsOfResources: fields of custom resources that name Secrets.
func secretsOfResources(_ *world, o *object, add func(need)) {
	if !customGroup(o.g) {
		return
	}
	for _, f := range secretFields[o.g+"/"+o.k] {
		follow(o.root(), strings.Split(f.path, "."), "", func(name, field string, beside map[string]any) {
			ns := o.namespace()
			if f.namespace != "" {
				ns = either(text(beside, f.namespace), ns)
			}
			n := need{key: secretKey(ns, name), field: field, strength: plan.Hard, effect: dependency.Ready, verb: "needs Secret " + ns + "/" + name, anyNamespace: f.elsewhere}
			switch {
			case f.elsewhere:
				n.key.Namespace, n.verb = "", "needs Secret "+name
			case f.config:
				n.key, n.verb = configMapKey(ns, name), "needs ConfigMap "+ns+"/"+name
			}
			if f.soft {
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
