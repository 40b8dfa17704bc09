package roles

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Words splits names such as "external-secrets-ready" and "charts/certManager".
func Words(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})...)
	}
	return all
}

// typeWords are the words in names that say what a component is, the most telling
// first: "db-migrations-smoke" is a smoke.
func typeWords() []struct {
	t     model.Type
	words []string
} {
	return []struct {
		t     model.Type
		words []string
	}{
		{model.Smoke, []string{"smoke", "smokes", "qa", "e2e", "smoketest", "test", "tests"}},
		{model.CRDs, []string{"crd", "crds"}},
		{model.Namespaces, []string{"namespaces", "namespace"}},
		{model.Bootstrap, []string{"bootstrap", "migration", "migrations", "migrate", "seed", "realm", "init", "initialize"}},
		{model.Operator, []string{"operator", "operators", "controller", "controllers", "manager"}},
		{model.Secrets, []string{"secret", "secrets", "issuer", "issuers", "certificates", "certs", "credentials", "secretstore"}},
		{model.Config, []string{"config", "configs", "configuration", "datasources", "dashboards", "rules", "policies", "storage", "storageclass", "classes", "monitoring"}},
	}
}

// OperatorCharts are charts of controllers that others build on, whose names do
// not say so. Source: the charts themselves; each brings CRDs and the controller
// that serves them.
func OperatorCharts() []string {
	return []string{
		"cert-manager", "external-secrets", "cloudnative-pg", "cnpg", "strimzi", "strimzi-kafka-operator", "envoy-gateway", "gateway-helm",
		"kyverno", "sealed-secrets", "crossplane", "keda", "karpenter", "istiod", "istio-base", "metallb", "external-dns", "reloader",
		"prometheus-operator", "argo-workflows", "argo-events", "argo-rollouts", "velero", "longhorn", "rook-ceph", "snapshot-controller",
		"cilium", "calico", "tigera-operator", "reflector", "trust-manager", "flux-operator",
	}
}

// Role is what a name tells of a component.
type Role struct {
	Type   model.Type
	Domain string
}

// Named reads the names of a component and its chart. What they do not tell is a
// runtime of the apps.
func Named(name, chart string) Role {
	base := chart[strings.LastIndexByte(chart, '/')+1:]
	r := Role{Type: typeOf(name, base), Domain: DomainOf(name, base)}
	if r.Domain == "" {
		r.Domain = "apps"
		switch r.Type {
		case model.Namespaces, model.CRDs, model.Operator, model.Secrets, model.Smoke:
			// A smoke goes to the band of what it validates.
			r.Domain = "foundation"
		default:
		}
	}
	return r
}

// typeOf goes by the last word of a name, which says what it is, then by any other:
// cert-manager-config is a config, vault-secrets-observability a bundle of secrets.
func typeOf(name, chart string) model.Type {
	own := Words(name)
	if len(own) == 0 {
		return model.Runtime
	}
	if of := Words(chart); len(of) > 0 && TypeOfWords(of[len(of)-1:]) == model.CRDs && TypeOfWords(own[len(own)-1:]) != model.Smoke {
		return model.CRDs // prometheus-operator-crds, whatever the release is called
	}
	if slices.Contains(OperatorCharts(), name) || slices.Contains(OperatorCharts(), chart) {
		if t := TypeOfWords(own[len(own)-1:]); t == model.Smoke || t == model.CRDs {
			return t
		}
		return model.Operator
	}
	if t := TypeOfWords(own[len(own)-1:]); t != "" {
		return t
	}
	// In the middle of a name these tell nothing: test-app, qa-portal.
	inner := slices.DeleteFunc(slices.Clone(own), func(w string) bool {
		return slices.Contains([]string{"test", "tests", "qa", "manager", "controller", "init", "seed", "test"}, w)
	})
	if t := TypeOfWords(inner); t != "" {
		return t
	}
	// The name of the chart tells of others less than that of the release.
	if t := TypeOfWords(Words(chart)); t == model.CRDs || t == model.Operator {
		return t
	}
	return model.Runtime
}

// TypeOfWords is the type that words of a name tell, the most telling first; "" for none.
func TypeOfWords(own []string) model.Type {
	for _, t := range typeWords() {
		if slices.ContainsFunc(own, func(w string) bool { return slices.Contains(t.words, w) }) {
			return t.t
		}
	}
	return ""
}

// domainWords are the words that name a domain, in the order of the bands.
func domainWords() []struct {
	domain string
	words  []string
} {
	return []struct {
		domain string
		words  []string
	}{
		{"observability", []string{"observability", "monitoring", "prometheus", "grafana", "loki", "tempo", "alloy", "otel", "opentelemetry", "langfuse", "alertmanager", "thanos", "jaeger", "fluent", "fluentbit", "fluentd", "promtail", "metrics", "logging", "datadog", "vector", "victoria", "mimir", "sentry"}},
		{"data-extended", []string{"temporal", "pgadmin"}},
		{"data", []string{"data", "postgres", "postgresql", "postgresqls", "cnpg", "pg", "redis", "valkey", "kafka", "strimzi", "clickhouse", "minio", "mongo", "mongodb", "mysql", "mariadb", "rabbitmq", "nats", "elasticsearch", "opensearch", "cassandra", "db", "database", "databases", "neo4j", "dragonfly", "etcd"}},
		{"platform", []string{"platform", "control", "gateway", "envoy", "ingress", "nginx", "traefik", "keycloak", "auth", "dex", "oidc", "oauth2", "istio", "istiod", "cloudflared", "tunnel"}},
		{"foundation", []string{"foundation", "argocd", "argo", "vault", "cert", "certs", "certificates", "secrets", "secret", "coredns", "dns", "storage", "namespaces", "cilium", "metallb", "longhorn", "rook", "ceph", "csi", "kyverno", "flux", "bootstrap", "system", "karpenter", "autoscaler", "reloader"}},
		{"apps", []string{"apps", "app", "services", "product", "frontend", "backend", "web"}},
	}
}

// DomainOf is the domain that names tell; "" for none.
func DomainOf(names ...string) string {
	own := Words(names...)
	for _, d := range domainWords() {
		if slices.ContainsFunc(own, func(w string) bool { return slices.Contains(d.words, w) }) {
			return d.domain
		}
	}
	return ""
}
