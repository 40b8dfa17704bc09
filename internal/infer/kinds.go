package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/dependency"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
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
	case o.is("operators.coreos.com", "Subscription"):
		for _, group := range olmGroups[text(root, "spec", "name")] {
			add(kindKey(group, "*"))
		}
	case o.is("pkg.crossplane.io", "Provider"):
		add(key{Kind: kindPackage, Name: packageName(text(root, "spec", "package"))})
	}
}

func requiresKind(_ *world, o *object, add func(need)) {
	if !customGroup(o.g) || ownKind(o.g, o.k) {
		return
	}
	n := need{key: kindKey(o.g, o.k), field: "apiVersion", strength: plan.Hard, effect: dependency.Apply,
		verb: "is of kind " + o.k + " of " + o.g, absent: true}
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

// olmGroups are the groups that a package of the Operator Lifecycle Manager
// brings the CRDs of. Source: the bundles of OperatorHub.
var olmGroups = map[string][]string{
	"cert-manager":                                 {"cert-manager.io", "acme.cert-manager.io"},
	"openshift-cert-manager-operator":              {"cert-manager.io", "acme.cert-manager.io", "operator.openshift.io"},
	"external-secrets-operator":                    {"external-secrets.io", "generators.external-secrets.io", "operator.external-secrets.io"},
	"openshift-external-secrets-operator":          {"external-secrets.io", "generators.external-secrets.io", "operator.openshift.io"},
	"strimzi-kafka-operator":                       {"kafka.strimzi.io", "core.strimzi.io"},
	"amq-streams":                                  {"kafka.strimzi.io", "core.strimzi.io"},
	"cloudnative-pg":                               {"postgresql.cnpg.io"},
	"cloud-native-postgresql":                      {"postgresql.k8s.enterprisedb.io"},
	"keycloak-operator":                            {"k8s.keycloak.org"},
	"rhbk-operator":                                {"k8s.keycloak.org"},
	"grafana-operator":                             {"grafana.integreatly.org"},
	"prometheus":                                   {"monitoring.coreos.com"},
	"opentelemetry-operator":                       {"opentelemetry.io"},
	"opentelemetry-product":                        {"opentelemetry.io"},
	"tempo-operator":                               {"tempo.grafana.com"},
	"tempo-product":                                {"tempo.grafana.com"},
	"loki-operator":                                {"loki.grafana.com"},
	"cluster-logging":                              {"observability.openshift.io"},
	"elastic-cloud-eck":                            {"elasticsearch.k8s.elastic.co", "kibana.k8s.elastic.co", "apm.k8s.elastic.co", "beat.k8s.elastic.co", "agent.k8s.elastic.co", "logstash.k8s.elastic.co"},
	"elasticsearch-eck-operator-certified":         {"elasticsearch.k8s.elastic.co", "kibana.k8s.elastic.co", "apm.k8s.elastic.co", "beat.k8s.elastic.co", "agent.k8s.elastic.co", "logstash.k8s.elastic.co"},
	"openshift-gitops-operator":                    {"argoproj.io", "pipelines.openshift.io"},
	"argocd-operator":                              {"argoproj.io"},
	"openshift-pipelines-operator-rh":              {"operator.tekton.dev"},
	"serverless-operator":                          {"operator.knative.dev"},
	"kubevirt-hyperconverged":                      {"hco.kubevirt.io"},
	"rhacs-operator":                               {"platform.stackrox.io"},
	"advanced-cluster-management":                  {"operator.open-cluster-management.io"},
	"multicluster-engine":                          {"multicluster.openshift.io"},
	"odf-operator":                                 {"odf.openshift.io"},
	"ocs-operator":                                 {"ocs.openshift.io"},
	"lvms-operator":                                {"lvm.topolvm.io"},
	"local-storage-operator":                       {"local.storage.openshift.io"},
	"nfd":                                          {"nfd.openshift.io", "nfd.k8s-sigs.io"},
	"gpu-operator-certified":                       {"nvidia.com"},
	"kubernetes-nmstate-operator":                  {"nmstate.io"},
	"metallb-operator":                             {"metallb.io"},
	"sriov-network-operator":                       {"sriovnetwork.openshift.io"},
	"kiali-ossm":                                   {"kiali.io"},
	"kiali":                                        {"kiali.io"},
	"quay-operator":                                {"quay.redhat.com"},
	"vault-secrets-operator":                       {"secrets.hashicorp.com"},
	"rhods-operator":                               {"datasciencecluster.opendatahub.io", "dscinitialization.opendatahub.io"},
	"opendatahub-operator":                         {"datasciencecluster.opendatahub.io", "dscinitialization.opendatahub.io"},
	"openshift-custom-metrics-autoscaler-operator": {"keda.sh"},
	"authorino-operator":                           {"authorino.kuadrant.io", "operator.authorino.kuadrant.io"},
	"compliance-operator":                          {"compliance.openshift.io"},
	"redhat-oadp-operator":                         {"oadp.openshift.io", "velero.io"},
	"openshift-secondary-scheduler-operator":       {"operator.openshift.io"},
	"cluster-observability-operator":               {"monitoring.rhobs", "observability.openshift.io"},
	"devspaces":                                    {"org.eclipse.che"},
	"rabbitmq-cluster-operator":                    {"rabbitmq.com"},
	"mariadb-operator":                             {"k8s.mariadb.com"},
	"minio-operator":                               {"minio.min.io"},
}
