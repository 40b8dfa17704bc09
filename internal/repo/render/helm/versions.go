package helm

import "strings"

// DefaultKubeVersion is the version of Kubernetes charts are told when nothing
// else is set: the version of the embedded plane.
const DefaultKubeVersion = "1.36.3"

// builtinKinds are the API versions that a cluster serves without any CRD, with
// their kinds. Source: the API reference of Kubernetes 1.36; only versions that
// are served by default.
var builtinKinds = map[string]string{
	"v1":                              "Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount ConfigMap Endpoints Event LimitRange Binding ComponentStatus",
	"admissionregistration.k8s.io/v1": "ValidatingWebhookConfiguration MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
	"apiextensions.k8s.io/v1":         "CustomResourceDefinition",
	"apiregistration.k8s.io/v1":       "APIService",
	"apps/v1":                         "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
	"authentication.k8s.io/v1":        "SelfSubjectReview TokenReview",
	"authorization.k8s.io/v1":         "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
	"autoscaling/v1":                  "HorizontalPodAutoscaler",
	"autoscaling/v2":                  "HorizontalPodAutoscaler",
	"batch/v1":                        "CronJob Job",
	"certificates.k8s.io/v1":          "CertificateSigningRequest",
	"coordination.k8s.io/v1":          "Lease",
	"discovery.k8s.io/v1":             "EndpointSlice",
	"events.k8s.io/v1":                "Event",
	"flowcontrol.apiserver.k8s.io/v1": "FlowSchema PriorityLevelConfiguration",
	"networking.k8s.io/v1":            "Ingress IngressClass NetworkPolicy IPAddress ServiceCIDR",
	"node.k8s.io/v1":                  "RuntimeClass",
	"policy/v1":                       "PodDisruptionBudget",
	"rbac.authorization.k8s.io/v1":    "ClusterRole ClusterRoleBinding Role RoleBinding",
	"resource.k8s.io/v1":              "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
	"scheduling.k8s.io/v1":            "PriorityClass",
	"storage.k8s.io/v1":               "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
}

// BuiltinVersions are the API versions that every cluster has: "group/version" and
// "group/version/Kind".
func BuiltinVersions() []string {
	var all []string
	for version, kinds := range builtinKinds {
		all = append(all, version)
		for _, kind := range strings.Fields(kinds) {
			all = append(all, version+"/"+kind)
		}
	}
	return all
}
