package infer

import (
	"slices"
	"strings"
)

// distributed reports whether a namespace comes with the cluster itself. Source: the
// namespaces of a fresh OpenShift 4 cluster ("oc get namespaces"), of which those are
// listed that platforms put things into; the documentation of GKE's managed Prometheus.
func distributed(name string) bool {
	switch name {
	case "openshift", "openshift-operators", "openshift-operator-lifecycle-manager", "openshift-marketplace", "openshift-monitoring",
		"openshift-user-workload-monitoring", "openshift-config", "openshift-config-managed", "openshift-console", "openshift-console-operator",
		"openshift-image-registry", "openshift-ingress", "openshift-ingress-operator", "openshift-dns", "openshift-dns-operator",
		"openshift-authentication", "openshift-apiserver", "openshift-kube-apiserver", "openshift-etcd", "openshift-infra", "openshift-node",
		"openshift-machine-api", "openshift-machine-config-operator", "openshift-cluster-node-tuning-operator", "openshift-cluster-csi-drivers",
		"openshift-cluster-samples-operator", "openshift-network-operator", "openshift-network-diagnostics", "openshift-multus",
		"openshift-ovn-kubernetes", "openshift-insights", "gmp-system", "gmp-public":
		return true
	}
	return systemNamespace(name)
}

// mayBeDistributed reports whether something that is not in the repository may make
// the namespace of an object: the distribution, or one of its operators. OLM itself makes
// none for what it installs an operator with, and Argo CD runs before the Subscription
// of its own operator is read.
func mayBeDistributed(name string, o *object) bool {
	if distributed(name) || argoNamespace(strings.TrimSuffix(name, "-operator")) {
		return true
	}
	return ofDistribution(name) && !o.is("operators.coreos.com", "OperatorGroup", "Subscription")
}

// ofDistribution reports whether a namespace is called as those of a distribution are.
func ofDistribution(name string) bool {
	return strings.HasPrefix(name, "openshift-") || name == "kube-flannel" || name == "kube-ovn"
}

// isOpenShift reports whether an object is of a kind that only OpenShift serves, or installs what its
// catalogues have.
func isOpenShift(o *object) bool {
	if o.is("operators.coreos.com", "Subscription") {
		return text(o.root(), "spec", "sourceNamespace") == "openshift-marketplace"
	}
	switch o.g {
	case "route.openshift.io", "security.openshift.io", "config.openshift.io", "operator.openshift.io", "machineconfiguration.openshift.io", "console.openshift.io",
		"project.openshift.io", "user.openshift.io", "image.openshift.io", "build.openshift.io", "apps.openshift.io", "template.openshift.io", "oauth.openshift.io":
		return true
	}
	return false
}

// comesWithOpenShift reports whether the CRDs of a group are there as soon as OpenShift is. Source:
// OpenShift, "API reference"; the manifests of its release payload.
func comesWithOpenShift(group string) bool {
	return slices.Contains([]string{"monitoring.coreos.com", "operators.coreos.com", "snapshot.storage.k8s.io", "k8s.cni.cncf.io", "metal3.io"}, group)
}
