package infer

import "strings"

// Children: the Secrets, ConfigMaps, Services and Namespaces that operators make from custom
// resources under a name that follows from the resource.

// child is an object that an operator makes from each object of a kind; see
// KnownChild for the templates.
type child struct {
	makes, name string
	// namespace is a template too; empty means that of the parent.
	namespace string
	unless    string
}

// childrenOf are by "group/Kind". Source: the documentation of each operator.
var childrenOf = map[string][]child{
	"access.strimzi.io/KafkaAccess": {{makes: "Secret", name: "{spec.secretName}"}, {makes: "Secret", name: "{name}", unless: "spec.secretName"}},
	"acid.zalan.do/postgresql": {{makes: "Service", name: "{name}"}, {makes: "Service", name: "{name}-repl"},
		{makes: "Secret", name: "postgres.{name}.credentials.postgresql.acid.zalan.do"}, {makes: "Secret", name: "standby.{name}.credentials.postgresql.acid.zalan.do"}},
	"clickhouse.altinity.com/ClickHouseInstallation":              {{makes: "Service", name: "clickhouse-{name}"}},
	"clickhouse-keeper.altinity.com/ClickHouseKeeperInstallation": {{makes: "Service", name: "keeper-{name}"}},
	"databases.spotahome.com/RedisFailover":                       {{makes: "Service", name: "rfs-{name}"}, {makes: "Service", name: "rfrm-{name}"}, {makes: "Service", name: "rfrs-{name}"}},
	"datasciencecluster.opendatahub.io/DataScienceCluster":        {{makes: "Namespace", name: "rhods-notebooks"}, {makes: "Namespace", name: "{spec.components.modelregistry.registriesNamespace}"}},
	"dscinitialization.opendatahub.io/DSCInitialization":          {{makes: "Namespace", name: "{spec.applicationsNamespace}"}, {makes: "Namespace", name: "{spec.monitoring.namespace}"}},
	"dragonflydb.io/Dragonfly":                                    {{makes: "Service", name: "{name}"}},
	"elasticsearch.k8s.elastic.co/Elasticsearch": {{makes: "Service", name: "{name}-es-http"}, {makes: "Service", name: "{name}-es-transport"},
		{makes: "Secret", name: "{name}-es-elastic-user"}, {makes: "Secret", name: "{name}-es-http-certs-public"}},
	"grafana.integreatly.org/Grafana":   {{makes: "Service", name: "{name}-service"}, {makes: "Secret", name: "{name}-admin-credentials"}},
	"jaegertracing.io/Jaeger":           {{makes: "Service", name: "{name}-query"}, {makes: "Service", name: "{name}-collector"}},
	"k8s.bitwarden.com/BitwardenSecret": {{makes: "Secret", name: "{spec.secretName}"}},
	"k8s.keycloak.org/Keycloak": {{makes: "Service", name: "{name}-service"}, {makes: "Service", name: "{name}-discovery"},
		{makes: "Secret", name: "{name}-initial-admin", unless: "spec.bootstrapAdmin"}},
	"k8s.mariadb.com/MariaDB": {{makes: "Service", name: "{name}"}, {makes: "Service", name: "{name}-primary"}, {makes: "Service", name: "{name}-secondary"}, {makes: "Service", name: "{name}-internal"},
		{makes: "Secret", name: "{name}-root", unless: "spec.rootPasswordSecretKeyRef"}},
	"k8s.mariadb.com/MaxScale": {{makes: "Service", name: "{name}"}},
	"kafka.strimzi.io/Kafka": {{makes: "Service", name: "{name}-kafka-bootstrap"}, {makes: "Service", name: "{name}-kafka-brokers"},
		{makes: "Secret", name: "{name}-cluster-ca-cert"}, {makes: "Secret", name: "{name}-clients-ca-cert"}},
	"kafka.strimzi.io/KafkaUser":                          {{makes: "Secret", name: "{name}"}},
	"kafka.strimzi.io/KafkaBridge":                        {{makes: "Service", name: "{name}-bridge-service"}},
	"kafka.strimzi.io/KafkaConnect":                       {{makes: "Service", name: "{name}-connect-api"}},
	"kafka.strimzi.io/KafkaMirrorMaker2":                  {{makes: "Service", name: "{name}-mirrormaker2-api"}},
	"kibana.k8s.elastic.co/Kibana":                        {{makes: "Service", name: "{name}-kb-http"}},
	"minio.min.io/Tenant":                                 {{makes: "Service", name: "minio"}, {makes: "Service", name: "{name}-hl"}, {makes: "Service", name: "{name}-console"}},
	"mongodbcommunity.mongodb.com/MongoDBCommunity":       {{makes: "Service", name: "{name}-svc"}},
	"monitoring.coreos.com/Alertmanager":                  {{makes: "Service", name: "alertmanager-operated"}},
	"monitoring.coreos.com/Prometheus":                    {{makes: "Service", name: "prometheus-operated"}},
	"monitoring.coreos.com/ThanosRuler":                   {{makes: "Service", name: "thanos-ruler-operated"}},
	"multicluster.openshift.io/MultiClusterEngine":        {{makes: "Namespace", name: "{spec.targetNamespace}"}, {makes: "Namespace", name: "multicluster-engine", unless: "spec.targetNamespace"}, {makes: "Namespace", name: "open-cluster-management-hub"}},
	"onepassword.com/OnePasswordItem":                     {{makes: "Secret", name: "{name}"}},
	"opentelemetry.io/OpenTelemetryCollector":             {{makes: "Service", name: "{name}-collector"}, {makes: "Service", name: "{name}-collector-headless"}, {makes: "Service", name: "{name}-collector-monitoring"}},
	"operator.open-cluster-management.io/MultiClusterHub": {{makes: "Namespace", name: "multicluster-engine"}, {makes: "Namespace", name: "open-cluster-management-hub"}},
	"operator.victoriametrics.com/VMAgent":                {{makes: "Service", name: "vmagent-{name}"}},
	"operator.victoriametrics.com/VMAlert":                {{makes: "Service", name: "vmalert-{name}"}},
	"operator.victoriametrics.com/VMAlertmanager":         {{makes: "Service", name: "vmalertmanager-{name}"}},
	"operator.victoriametrics.com/VMAuth":                 {{makes: "Service", name: "vmauth-{name}"}},
	"operator.victoriametrics.com/VMCluster":              {{makes: "Service", name: "vmselect-{name}"}, {makes: "Service", name: "vminsert-{name}"}, {makes: "Service", name: "vmstorage-{name}"}},
	"operator.victoriametrics.com/VMSingle":               {{makes: "Service", name: "vmsingle-{name}"}},
	"operator.victoriametrics.com/VLSingle":               {{makes: "Service", name: "vlsingle-{name}"}},
	"postgres-operator.crunchydata.com/PostgresCluster": {{makes: "Service", name: "{name}-primary"}, {makes: "Service", name: "{name}-replicas"}, {makes: "Service", name: "{name}-ha"},
		{makes: "Secret", name: "{name}-cluster-cert"}},
	"postgresql.cnpg.io/Cluster": {{makes: "Service", name: "{name}-rw"}, {makes: "Service", name: "{name}-ro"}, {makes: "Service", name: "{name}-r"},
		{makes: "Secret", name: "{name}-ca", unless: "spec.certificates.serverCASecret"}, {makes: "Secret", name: "{name}-server", unless: "spec.certificates.serverTLSSecret"},
		{makes: "Secret", name: "{name}-replication", unless: "spec.certificates.replicationTLSSecret"}},
	"postgresql.cnpg.io/Pooler":                    {{makes: "Service", name: "{name}"}},
	"rabbitmq.com/RabbitmqCluster":                 {{makes: "Service", name: "{name}"}, {makes: "Service", name: "{name}-nodes"}, {makes: "Secret", name: "{name}-default-user"}, {makes: "Secret", name: "{name}-erlang-cookie"}},
	"rabbitmq.com/User":                            {{makes: "Secret", name: "{name}-user-credentials"}},
	"redis.redis.opstreelabs.in/Redis":             {{makes: "Service", name: "{name}"}, {makes: "Service", name: "{name}-headless"}},
	"ricoberger.de/VaultSecret":                    {{makes: "Secret", name: "{name}"}},
	"secrets.doppler.com/DopplerSecret":            {{makes: "Secret", name: "{spec.managedSecret.name}", namespace: "{spec.managedSecret.namespace}"}},
	"secrets.infisical.com/InfisicalSecret":        {{makes: "Secret", name: "{spec.managedSecretReference.secretName}", namespace: "{spec.managedSecretReference.secretNamespace}"}},
	"serving.knative.dev/Service":                  {{makes: "Service", name: "{name}"}},
	"workspaces.kommander.mesosphere.io/Project":   {{makes: "Namespace", name: "{spec.namespaceName}"}},
	"workspaces.kommander.mesosphere.io/Workspace": {{makes: "Namespace", name: "{spec.namespaceName}"}},
	"temporal.io/TemporalCluster":                  {{makes: "Service", name: "{name}-frontend"}, {makes: "Service", name: "{name}-ui"}},
}

func providesChildren(o *object, add func(key)) {
	if !customGroup(o.g) {
		return
	}
	for _, c := range childrenOf[o.g+"/"+o.k] {
		c.provide(o, add)
	}
}

func (c child) provide(o *object, add func(key)) {
	if c.unless != "" && value(o.root(), strings.Split(c.unless, ".")...) != nil {
		return
	}
	name, ns := fill(c.name, o), o.namespace()
	if c.namespace != "" {
		ns = either(fill(c.namespace, o), ns)
	}
	switch {
	case name == "":
	case c.makes == "Secret":
		add(secretKey(ns, name))
	case c.makes == "ConfigMap":
		add(configMapKey(ns, name))
	case c.makes == "Service":
		add(serviceKey(ns, name))
	case c.makes == "Namespace":
		add(namespaceKey(name))
	}
}

// fill fills a template in; it is empty where a field of it is.
func fill(template string, o *object) string {
	var out strings.Builder
	for rest := template; ; {
		before, after, ok := strings.Cut(rest, "{")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		field, tail, ok := strings.Cut(after, "}")
		if !ok {
			return ""
		}
		var part string
		switch field {
		case "name":
			part = o.name
		case "namespace":
			part = o.namespace()
		default:
			part = text(o.root(), strings.Split(field, ".")...)
		}
		if part == "" {
			return ""
		}
		out.WriteString(part)
		rest = tail
	}
}
