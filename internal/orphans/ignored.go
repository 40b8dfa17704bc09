package orphans

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// Why an object is no orphan.
const (
	byCluster  = "made by Kubernetes"
	byOperator = "made by an operator"
	byRelease  = "Helm's own storage"
	byArgo     = "Argo CD's own"
	byState    = "Ladder's own"
	leaving    = "being deleted"
	onDemand   = "made on demand (CreateNamespace)"
)

// judge says why an object is no orphan; "" where it is one. statefulSets are the
// names of the StatefulSets by namespace.
func (x *index) ignored(o live, statefulSets map[string][]string) string {
	gk := o.kind.GroupKind()
	switch {
	case o.DeletionTimestamp != nil:
		return leaving
	case o.Namespace == stateNamespace || o.Labels["ladder.rollout-ladder.dev/inventory"] != "":
		return byState
	case helmStorage(o):
		return byRelease
	case x.ofArgo(o):
		return byArgo
	case gk == schema.GroupKind{Kind: "Namespace"} && slices.Contains(x.namespaces, o.Name):
		return onDemand
	case ofCluster(o):
		return byCluster
	case gk == schema.GroupKind{Kind: "PersistentVolumeClaim"} && ofStatefulSet(o.Name, statefulSets[o.Namespace]):
		return byCluster
	case ofOperator(o):
		return byOperator
	}
	return ""
}

// ofCluster recognises what Kubernetes and its distributions make. Source: the
// controllers of kube-controller-manager (serviceaccount, root-ca-publisher), the
// bootstrap policies of the API server, k3s and OpenShift.
func ofCluster(o live) bool {
	switch o.kind.Kind {
	case "ServiceAccount":
		if o.Name == "default" || hasLabelPrefix(o, "openshift.io/") || (o.Name == "builder" || o.Name == "deployer") && o.Annotations["openshift.io/internal-registry-pull-secret-ref"] != "" {
			return true
		}
	case "ConfigMap":
		if o.Name == "kube-root-ca.crt" || o.Name == "openshift-service-ca.crt" || o.Annotations["control-plane.alpha.kubernetes.io/leader"] != "" {
			return true
		}
	case "Secret":
		if o.Annotations["kubernetes.io/service-account.name"] != "" {
			return true
		}
	case "Service":
		if o.Namespace == "default" && o.Name == "kubernetes" {
			return true
		}
	case "PersistentVolume":
		if o.Annotations["pv.kubernetes.io/provisioned-by"] != "" {
			return true
		}
	case "Namespace":
		if slices.Contains(systemNamespaces, o.Name) {
			return true
		}
	case "PriorityClass":
		if strings.HasPrefix(o.Name, "system-") {
			return true
		}
	case "APIService":
		if o.Labels["kube-aggregator.kubernetes.io/automanaged"] != "" {
			return true
		}
	case "FlowSchema", "PriorityLevelConfiguration":
		if _, ok := o.Annotations["apf.kubernetes.io/autoupdate-spec"]; ok {
			return true
		}
	}
	if o.Labels["kubernetes.io/bootstrapping"] != "" || o.Labels["addonmanager.kubernetes.io/mode"] != "" || o.Labels["objectset.rio.cattle.io/hash"] != "" ||
		strings.HasPrefix(o.kind.Group, "rbac.") && strings.HasPrefix(o.Name, "system:") {
		return true
	}
	managers := managersOf(o)
	return len(managers) > 0 && !slices.ContainsFunc(managers, func(m string) bool { return !clusterManager.MatchString(m) })
}

// clusterManager matches the field managers of a control plane and its nodes.
var clusterManager = lazyregexp.New(`^(kube-apiserver|kube-controller-manager|kube-scheduler|kubelet|kubeadm|cloud-controller-manager|k3s|rke2|ladder-simulated-.*)$`)

// ofStatefulSet reports whether a claim is one of a StatefulSet's templates:
// <template>-<set>-<ordinal>. Source: Kubernetes, StatefulSet, "Stable Storage".
func ofStatefulSet(claim string, sets []string) bool {
	stem := strings.TrimRight(claim, "0123456789")
	if stem == claim || !strings.HasSuffix(stem, "-") {
		return false
	}
	stem = strings.TrimSuffix(stem, "-")
	return slices.ContainsFunc(sets, func(set string) bool { return strings.HasSuffix(stem, "-"+set) })
}

// helmStorage recognises where Helm keeps its releases: version 3 in Secrets or
// ConfigMaps, version 2 in ConfigMaps. Source: helm, pkg/storage/driver.
func helmStorage(o live) bool {
	if o.kind.Kind != "Secret" && o.kind.Kind != "ConfigMap" {
		return false
	}
	return o.Labels["owner"] == "helm" || o.Labels["OWNER"] == "TILLER"
}

// ofArgo recognises Argo CD itself and what it is told: its installation, its
// Applications and projects, repositories and clusters. Source: Argo CD,
// manifests/install.yaml and "Declarative Setup".
func (x *index) ofArgo(o live) bool {
	switch {
	case o.kind.Group == "argoproj.io" && slices.Contains([]string{"Application", "ApplicationSet", "AppProject"}, o.kind.Kind):
		return true
	case o.Labels["app.kubernetes.io/part-of"] == "argocd", o.Labels["argocd.argoproj.io/secret-type"] != "":
		return true
	case slices.Contains(x.ArgoNamespaces, o.Namespace) && (o.Name == "argocd-initial-admin-secret" || o.Name == "argocd-redis"):
		return true
	}
	return false
}

// operatorLabels and operatorAnnotations are on what operators make without
// owning it. Source: the documentation of each.
var (
	operatorLabels = []string{
		"controller.cert-manager.io/fao", "cert-manager.io/next-private-key", "reconcile.external-secrets.io/managed", "reconcile.external-secrets.io/created-by",
		"strimzi.io/cluster", "cnpg.io/cluster", "crossplane.io/composite", "olm.managed", "olm.owner", "generate.kyverno.io/policy-name",
		"trust.cert-manager.io/bundle", "istio.io/config", "velero.io/restore-name", "kots.io/app-slug", "pxc.percona.com/cluster", "cluster.x-k8s.io/cluster-name",
	}
	operatorAnnotations = []string{
		"cert-manager.io/certificate-name", "reflector.v1.k8s.emberstack.com/reflects", "replicator.v1.mittwald.de/replicated-at", "kubed.appscode.com/origin",
		"kubernetes.io/ingress.uid", "autoscaling.alpha.kubernetes.io/conditions",
	}
)

// ofOperator recognises what an operator made: by its marks, by being a copy of
// what somebody else applied, or by its field managers.
func ofOperator(o live) bool {
	for _, l := range operatorLabels {
		if _, ok := o.Labels[l]; ok {
			return true
		}
	}
	for _, a := range operatorAnnotations {
		if _, ok := o.Annotations[a]; ok {
			return true
		}
	}
	if tracked, ok := trackedBy(o); ok && tracked.resource != o.resource {
		return true // operators copy annotations to what they make
	}
	if o.kind.Kind == "ConfigMap" && o.Name == "istio-ca-root-cert" {
		return true
	}
	if by := o.Labels["app.kubernetes.io/managed-by"]; operatorName.MatchString(by) && !applier.MatchString(by) {
		return true
	}
	managers := managersOf(o)
	if len(managers) == 0 || slices.ContainsFunc(managers, applier.MatchString) {
		return false
	}
	return !slices.ContainsFunc(managers, func(m string) bool { return !operatorName.MatchString(m) && !clusterManager.MatchString(m) })
}

// operatorName matches the names that operators have, which their field managers
// have from their binaries; applier those of what applies for people and
// repositories, some of which sound the same.
var (
	operatorName = lazyregexp.New(`(?i)(^|[-_./])(operator|controller|controllers|manager|provisioner|webhook|injector|cainjector|reconciler|autoscaler|pilot-discovery|discovery)([-_./].*)?$|^(cert-manager|external-secrets|velero|istiod|pilot-discovery|crossplane|apiextensions\.crossplane\.io|kyverno|traefik|envoy-gateway|cilium|calico|vault-agent)([-_./].*)?$`)
	applier      = lazyregexp.New(`(?i)^(ladder|kubectl.*|oc|helm|helmfile|werf|argocd.*|argo-cd.*|kustomize-controller|helm-controller|flux.*|kapp.*|fleet.*|fleetagent|rancher.*|terraform.*|hashicorp.*|opentofu.*|pulumi.*|ansible.*|openapi-generator|skaffold.*|tilt.*|k9s|lens|node-fetch|mozilla|before-first-apply|devspace|garden|cdk8s.*)$`)
)

// managersOf are the field managers of an object, sorted, those of its status
// left out.
func managersOf(o live) []string {
	var out []string
	for _, m := range o.ManagedFields {
		if m.Subresource == "" && m.Manager != "" && !slices.Contains(out, m.Manager) {
			out = append(out, m.Manager)
		}
	}
	slices.Sort(out)
	return out
}

func hasLabelPrefix(o live, prefix string) bool {
	for l := range o.Labels {
		if strings.HasPrefix(l, prefix) {
			return true
		}
	}
	return false
}

// tracking is what Argo CD wrote on an object: its Application, and the object
// that it meant.
type tracking struct {
	application string
	resource    finding.Resource
}

// trackedBy reads the annotation "app:group/kind:namespace/name". Source: Argo CD,
// "Resource Tracking".
func trackedBy(o live) (tracking, bool) {
	parts := strings.Split(o.Annotations["argocd.argoproj.io/tracking-id"], ":")
	if len(parts) < 3 {
		return tracking{}, false
	}
	group, kindName, ok := strings.Cut(parts[1], "/")
	// Names of cluster roles hold colons.
	namespace, name, also := strings.Cut(strings.Join(parts[2:], ":"), "/")
	if !ok || !also {
		return tracking{}, false
	}
	if o.Namespace == "" { // Argo CD writes the destination of the Application
		namespace = ""
	}
	// An Application outside Argo CD's namespace is namespace_name.
	application := parts[0]
	if _, after, found := strings.Cut(application, "_"); found {
		application = after
	}
	return tracking{application, finding.Resource{Group: group, Kind: kindName, Namespace: namespace, Name: name}}, true
}
