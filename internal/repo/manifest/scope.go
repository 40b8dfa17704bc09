package manifest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Scopes knows which kinds are cluster-wide: those of Kubernetes itself, those
// whose CRD was added, and some well-known ones.
type Scopes struct {
	crds map[string]bool // "group/kind" -> cluster-wide
}

// clusterKinds are the cluster-wide kinds of Kubernetes by group, and of
// well-known operators whose CRDs a repository often does not hold itself.
// Source: the API reference of Kubernetes 1.36 and the CRDs of each operator.
var clusterKinds = map[string]string{
	"":                               "Namespace Node PersistentVolume ComponentStatus",
	"admissionregistration.k8s.io":   "ValidatingWebhookConfiguration MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
	"apiextensions.k8s.io":           "CustomResourceDefinition",
	"apiregistration.k8s.io":         "APIService",
	"certificates.k8s.io":            "CertificateSigningRequest ClusterTrustBundle",
	"flowcontrol.apiserver.k8s.io":   "FlowSchema PriorityLevelConfiguration",
	"networking.k8s.io":              "IngressClass IPAddress ServiceCIDR",
	"node.k8s.io":                    "RuntimeClass",
	"rbac.authorization.k8s.io":      "ClusterRole ClusterRoleBinding",
	"resource.k8s.io":                "DeviceClass ResourceSlice",
	"scheduling.k8s.io":              "PriorityClass",
	"storage.k8s.io":                 "StorageClass CSIDriver CSINode VolumeAttachment VolumeAttributesClass",
	"snapshot.storage.k8s.io":        "VolumeSnapshotClass VolumeSnapshotContent",
	"gateway.networking.k8s.io":      "GatewayClass",
	"cert-manager.io":                "ClusterIssuer",
	"external-secrets.io":            "ClusterSecretStore ClusterExternalSecret ClusterPushSecret",
	"generators.external-secrets.io": "ClusterGenerator",
	"templates.gatekeeper.sh":        "ConstraintTemplate",
	"kro.run":                        "ResourceGraphDefinition",
	"cilium.io":                      "CiliumClusterwideNetworkPolicy CiliumLoadBalancerIPPool CiliumL2AnnouncementPolicy CiliumBGPClusterConfig CiliumBGPPeeringPolicy",
	"kyverno.io":                     "ClusterPolicy ClusterCleanupPolicy GlobalContextEntry",
	"keda.sh":                        "ClusterTriggerAuthentication",
	"pkg.crossplane.io":              "Provider Configuration Function DeploymentRuntimeConfig",
	"apiextensions.crossplane.io":    "CompositeResourceDefinition Composition",
	"argoproj.io":                    "ClusterWorkflowTemplate ClusterAnalysisTemplate",
	"postgresql.cnpg.io":             "ClusterImageCatalog",
	"karpenter.sh":                   "NodePool NodeClaim",
	"trust.cert-manager.io":          "Bundle",

	// OpenShift's.
	"config.openshift.io":                 "APIServer Authentication Build ClusterOperator ClusterVersion Console DNS FeatureGate Image ImageContentPolicy ImageDigestMirrorSet ImageTagMirrorSet Infrastructure Ingress Network Node OAuth OperatorHub Project Proxy Scheduler",
	"console.openshift.io":                "ConsoleCLIDownload ConsoleExternalLogLink ConsoleLink ConsoleNotification ConsolePlugin ConsoleQuickStart ConsoleSample ConsoleYAMLSample",
	"machineconfiguration.openshift.io":   "MachineConfig MachineConfigPool KubeletConfig ContainerRuntimeConfig ControllerConfig",
	"operator.openshift.io":               "Authentication CSISnapshotController CloudCredential ClusterCSIDriver Config Console DNS Etcd ImageContentSourcePolicy InsightsOperator KubeAPIServer KubeControllerManager KubeScheduler KubeStorageVersionMigrator MachineConfiguration Network OpenShiftAPIServer OpenShiftControllerManager ServiceCA Storage",
	"imageregistry.operator.openshift.io": "Config ImagePruner",
	"project.openshift.io":                "Project",
	"security.openshift.io":               "SecurityContextConstraints",
	"user.openshift.io":                   "User Group Identity",
	"oauth.openshift.io":                  "OAuthClient",
	"quota.openshift.io":                  "ClusterResourceQuota",
	"nmstate.io":                          "NMState NodeNetworkConfigurationPolicy",
	"cluster.open-cluster-management.io":  "ManagedCluster ManagedClusterSet",
}

// NewScopes returns the scopes of the kinds that need no CRD.
func NewScopes() *Scopes {
	s := &Scopes{crds: map[string]bool{}}
	for group, kinds := range clusterKinds {
		for _, kind := range strings.Fields(kinds) {
			s.crds[group+"/"+kind] = true
		}
	}
	return s
}

// Add learns the scope of the kind that a CustomResourceDefinition defines;
// other objects are ignored.
func (s *Scopes) Add(o *unstructured.Unstructured) {
	if crd, ok := ReadCRD(o); ok {
		s.AddCRD(crd)
	}
}

// AddCRD learns the scope of a kind.
func (s *Scopes) AddCRD(crd CRD) { s.crds[crd.Group+"/"+crd.Kind] = crd.ClusterWide }

// ClusterWide reports whether objects of the kind live outside namespaces. A
// kind that nothing is known of counts as namespaced. All constraints of Gatekeeper are
// cluster-wide, whatever template makes their kind. Source: Gatekeeper, "How to use
// Gatekeeper".
func (s *Scopes) ClusterWide(group, kind string) bool {
	return s.crds[group+"/"+kind] || group == "constraints.gatekeeper.sh"
}

// CRD is what a CustomResourceDefinition says about its kind.
type CRD struct {
	Group, Kind, Plural string
	ClusterWide         bool
	Versions            []string // served versions, sorted
}

// ReadCRD reads a CustomResourceDefinition; ok is false for other objects and
// for definitions without group or kind.
func ReadCRD(o *unstructured.Unstructured) (crd CRD, ok bool) {
	if o.GetKind() != "CustomResourceDefinition" || !strings.HasPrefix(o.GetAPIVersion(), "apiextensions.k8s.io/") {
		return CRD{}, false
	}
	crd.Group, _, _ = unstructured.NestedString(o.Object, "spec", "group")
	crd.Kind, _, _ = unstructured.NestedString(o.Object, "spec", "names", "kind")
	crd.Plural, _, _ = unstructured.NestedString(o.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(o.Object, "spec", "scope")
	crd.ClusterWide = scope == "Cluster"
	spec, _ := o.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if served, isBool := m["served"].(bool); name != "" && (!isBool || served) {
			crd.Versions = append(crd.Versions, name)
		}
	}
	slices.Sort(crd.Versions)
	return crd, crd.Group != "" && crd.Kind != ""
}

// Clone returns a copy that learns on its own.
func (s *Scopes) Clone() *Scopes { return &Scopes{crds: maps.Clone(s.crds)} }
