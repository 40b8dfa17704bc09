package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Instances: resources that belong to another resource of their operator, a topic
// to its Kafka, and become Ready only while that runs.

// belongs is a field that names the resource to which another belongs.
type belongs struct {
	path      string // to the name; dots in a label are written as they are
	label     string // or the label that does
	namespace string // the path of its namespace, where it can be another
	group     string
	kind      string
	verb      string
	split     bool // the text may be "namespace/name"
	cluster   bool // the owner has no namespace
	soft      bool
}

// belonging is by "group/Kind". Source: the API reference of each operator.
var belonging = map[string][]belongs{
	"k8s.keycloak.org/KeycloakRealmImport":     {{path: "spec.keycloakCRName", group: "k8s.keycloak.org", kind: "Keycloak", verb: "is imported into"}},
	"kafka.strimzi.io/KafkaTopic":              {{label: strimziCluster, group: "kafka.strimzi.io", kind: "Kafka", verb: "belongs to"}},
	"kafka.strimzi.io/KafkaUser":               {{label: strimziCluster, group: "kafka.strimzi.io", kind: "Kafka", verb: "belongs to"}},
	"kafka.strimzi.io/KafkaNodePool":           {{label: strimziCluster, group: "kafka.strimzi.io", kind: "Kafka", verb: "belongs to", soft: true}},
	"kafka.strimzi.io/KafkaConnector":          {{label: strimziCluster, group: "kafka.strimzi.io", kind: "KafkaConnect", verb: "belongs to"}},
	"postgresql.cnpg.io/Database":              {{path: "spec.cluster.name", group: "postgresql.cnpg.io", kind: "Cluster", verb: "belongs to"}},
	"postgresql.cnpg.io/Pooler":                {{path: "spec.cluster.name", group: "postgresql.cnpg.io", kind: "Cluster", verb: "belongs to"}},
	"postgresql.cnpg.io/ScheduledBackup":       {{path: "spec.cluster.name", group: "postgresql.cnpg.io", kind: "Cluster", verb: "belongs to", soft: true}},
	"k8s.mariadb.com/Database":                 {{path: "spec.mariaDbRef.name", namespace: "spec.mariaDbRef.namespace", group: "k8s.mariadb.com", kind: "MariaDB", verb: "belongs to"}},
	"k8s.mariadb.com/User":                     {{path: "spec.mariaDbRef.name", namespace: "spec.mariaDbRef.namespace", group: "k8s.mariadb.com", kind: "MariaDB", verb: "belongs to"}},
	"k8s.mariadb.com/Grant":                    {{path: "spec.mariaDbRef.name", namespace: "spec.mariaDbRef.namespace", group: "k8s.mariadb.com", kind: "MariaDB", verb: "belongs to"}},
	"rabbitmq.com/Queue":                       {{path: "spec.rabbitmqClusterReference.name", namespace: "spec.rabbitmqClusterReference.namespace", group: "rabbitmq.com", kind: "RabbitmqCluster", verb: "belongs to"}},
	"rabbitmq.com/User":                        {{path: "spec.rabbitmqClusterReference.name", namespace: "spec.rabbitmqClusterReference.namespace", group: "rabbitmq.com", kind: "RabbitmqCluster", verb: "belongs to"}},
	"rabbitmq.com/Vhost":                       {{path: "spec.rabbitmqClusterReference.name", namespace: "spec.rabbitmqClusterReference.namespace", group: "rabbitmq.com", kind: "RabbitmqCluster", verb: "belongs to"}},
	"temporal.io/TemporalNamespace":            {{path: "spec.clusterRef.name", namespace: "spec.clusterRef.namespace", group: "temporal.io", kind: "TemporalCluster", verb: "belongs to"}},
	"secrets.hashicorp.com/VaultStaticSecret":  {{path: "spec.vaultAuthRef", group: "secrets.hashicorp.com", kind: "VaultAuth", verb: "authenticates by", split: true}},
	"secrets.hashicorp.com/VaultDynamicSecret": {{path: "spec.vaultAuthRef", group: "secrets.hashicorp.com", kind: "VaultAuth", verb: "authenticates by", split: true}},
	"secrets.hashicorp.com/VaultPKISecret":     {{path: "spec.vaultAuthRef", group: "secrets.hashicorp.com", kind: "VaultAuth", verb: "authenticates by", split: true}},
	"secrets.hashicorp.com/VaultAuth":          {{path: "spec.vaultConnectionRef", group: "secrets.hashicorp.com", kind: "VaultConnection", verb: "connects by", split: true}},
	"argoproj.io/Workflow":                     {{path: "spec.workflowTemplateRef.name", group: "argoproj.io", kind: "WorkflowTemplate", verb: "runs"}},
	"argoproj.io/CronWorkflow":                 {{path: "spec.workflowSpec.workflowTemplateRef.name", group: "argoproj.io", kind: "WorkflowTemplate", verb: "runs"}},
	// A ClusterServingRuntime may serve as well, so that one that is missing says nothing.
	"serving.kserve.io/InferenceService":      {{path: "spec.predictor.model.runtime", group: "serving.kserve.io", kind: "ServingRuntime", verb: "is served by"}},
	"apiextensions.crossplane.io/Composition": {{path: "spec.pipeline.[].functionRef.name", group: "pkg.crossplane.io", kind: "Function", verb: "runs", cluster: true, soft: true}},
	"pkg.crossplane.io/Provider":              {{path: "spec.runtimeConfigRef.name", group: "pkg.crossplane.io", kind: "DeploymentRuntimeConfig", verb: "runs with", cluster: true}},
}

func instanceKey(group, kind, ns, name string) key {
	return key{Kind: kindInstance + group + "/" + kind, Namespace: ns, Name: name}
}

func providesInstance(o *object, add func(key)) {
	switch o.g + "/" + o.k {
	case "k8s.keycloak.org/Keycloak", "kafka.strimzi.io/Kafka", "kafka.strimzi.io/KafkaConnect", "postgresql.cnpg.io/Cluster", "k8s.mariadb.com/MariaDB",
		"rabbitmq.com/RabbitmqCluster", "temporal.io/TemporalCluster", "secrets.hashicorp.com/VaultAuth", "secrets.hashicorp.com/VaultConnection",
		"pkg.crossplane.io/Function", "pkg.crossplane.io/DeploymentRuntimeConfig", "serving.kserve.io/ServingRuntime", "argoproj.io/WorkflowTemplate", objectStore:
		add(instanceKey(o.g, o.k, o.namespace(), o.name))
	case nodePool:
		// A Kafka runs on the pools that carry its name.
		add(instanceKey(o.g, o.k, o.namespace(), text(o.root(), "metadata", "labels", strimziCluster)))
	}
}

// A Kafka of Strimzi has no nodes before a KafkaNodePool with its name as a label is there.
// Source: strimzi-kafka-operator, documentation, "Configuring node pools".
const (
	nodePool       = "kafka.strimzi.io/KafkaNodePool"
	strimziCluster = "strimzi.io/cluster"
)

// onPools reports whether a Kafka runs on node pools: it says so, or says nothing of nodes of
// its own, as those without ZooKeeper do.
func onPools(o *object) bool {
	return text(o.root(), "metadata", "annotations", "strimzi.io/node-pools") == "enabled" ||
		value(o.root(), "spec", "zookeeper") == nil && value(o.root(), "spec", "kafka", "replicas") == nil
}

func requiresInstance(_ *world, o *object, add func(need)) {
	if !customGroup(o.g) {
		return
	}
	if o.is("kafka.strimzi.io", "Kafka") && onPools(o) {
		add(need{key: instanceKey(o.g, "KafkaNodePool", o.namespace(), o.name), field: "metadata.name", strength: plan.Hard, effect: dependency.Ready, verb: "runs on the node pools of " + o.name, static: true})
	}
	for _, b := range belonging[o.g+"/"+o.k] {
		found := func(name, field string, _ map[string]any) {
			ns := o.namespace()
			switch {
			case b.cluster:
				ns = ""
			case b.namespace != "":
				ns = either(text(o.root(), strings.Split(b.namespace, ".")...), ns)
			case b.split:
				if before, after, ok := strings.Cut(name, "/"); ok {
					ns, name = before, after
				}
			}
			n := need{key: instanceKey(b.group, b.kind, ns, name), field: field, strength: plan.Hard, effect: dependency.Ready, verb: b.verb + " " + b.kind + " " + name, slip: b.kind != "ServingRuntime",
				static: slices.Contains([]string{"DeploymentRuntimeConfig", "ServingRuntime", "WorkflowTemplate"}, b.kind)}
			if b.soft {
				n.strength = plan.Soft
			}
			add(n)
		}
		if b.label != "" {
			if name := text(o.root(), "metadata", "labels", b.label); name != "" {
				found(name, "metadata.labels."+b.label, nil)
			}
			continue
		}
		follow(o.root(), strings.Split(b.path, "."), "", found)
	}
}
