package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The kinds of capability, as descriptors write them.
const (
	kindCRD                = "crd" // by "plural.group"
	kindNamespace          = "namespace"
	kindSecret             = "secret"
	kindConfigMap          = "configmap"
	kindServiceAccount     = "serviceaccount"
	kindStorageClass       = "storageclass"
	kindPVC                = "persistentvolumeclaim"
	kindSecretStore        = "secretstore"
	kindClusterSecretStore = "clustersecretstore"
	kindIssuer             = "issuer"
	kindClusterIssuer      = "clusterissuer"
	kindIngressClass       = "ingressclass"
	kindGatewayClass       = "gatewayclass"
	kindGateway            = "gateway"
	kindPriorityClass      = "priorityclass"
	kindRuntimeClass       = "runtimeclass"
	kindService            = "service"

	// These are not written in descriptors.
	kindKind        = "kind"       // by "group/Kind" or "group/*"
	kindController  = "controller" // by "group/Kind" or "group/*"
	kindRole        = "role"
	kindClusterRole = "clusterrole"
	kindAPIService  = "apiservice" // by group
	kindPackage     = "package"    // of Crossplane, by the name of its image
	kindWaiting     = "waiting-storageclass"
	kindVolume      = "persistentvolume"
	kindReserved    = "reserved persistentvolume" // by the claim that it names
	kindInstance    = "instance "                 // and "group/Kind": an object of that kind
	kindParameters  = "parameters "               // and "group/Kind": an object that a class takes its parameters from
)

// ruleDeadlock judges what can become Healthy only through something later.
const ruleDeadlock = "gate-deadlock"

const ruleWebhook = "webhook-before-use"

// shortKinds are other words for a kind, as kubectl takes them.
var shortKinds = map[string]string{
	"ns": kindNamespace, "cm": kindConfigMap, "sa": kindServiceAccount, "sc": kindStorageClass, "pvc": kindPVC, "svc": kindService,
	"customresourcedefinition": kindCRD, "pc": kindPriorityClass,
}

// declaredKinds are those that a requirement can name; true means namespaced.
var declaredKinds = map[string]bool{
	kindCRD: false, kindNamespace: false, kindSecret: true, kindConfigMap: true, kindServiceAccount: true, kindStorageClass: false,
	kindPVC: true, kindSecretStore: true, kindClusterSecretStore: false, kindIssuer: true, kindClusterIssuer: false,
	kindIngressClass: false, kindGatewayClass: false, kindGateway: true, kindPriorityClass: false, kindRuntimeClass: false, kindService: true,
}

// judged says which rule judges the order of a kind of thing, and what Kubernetes
// calls it.
var judged = map[string]struct{ rule, group, kind string }{
	kindCRD:                {"crd-before-use", "apiextensions.k8s.io", "CustomResourceDefinition"},
	kindKind:               {"crd-before-use", "apiextensions.k8s.io", "CustomResourceDefinition"},
	kindController:         {"controller-before-use", "", "Controller"},
	kindNamespace:          {"namespace-before-use", "", "Namespace"},
	kindSecret:             {"secret-before-use", "", "Secret"},
	kindConfigMap:          {"configmap-before-use", "", "ConfigMap"},
	kindServiceAccount:     {"serviceaccount-before-use", "", "ServiceAccount"},
	kindStorageClass:       {"storageclass-before-use", "storage.k8s.io", "StorageClass"},
	kindVolume:             {"storageclass-before-use", "", "PersistentVolume"},
	kindReserved:           {"storageclass-before-use", "", "PersistentVolume"},
	kindPVC:                {"pvc-before-use", "", "PersistentVolumeClaim"},
	kindSecretStore:        {"secretstore-before-use", "external-secrets.io", "SecretStore"},
	kindClusterSecretStore: {"secretstore-before-use", "external-secrets.io", "ClusterSecretStore"},
	kindIssuer:             {"issuer-before-use", "cert-manager.io", "Issuer"},
	kindClusterIssuer:      {"issuer-before-use", "cert-manager.io", "ClusterIssuer"},
	kindIngressClass:       {"class-before-use", "networking.k8s.io", "IngressClass"},
	kindGatewayClass:       {"class-before-use", "gateway.networking.k8s.io", "GatewayClass"},
	kindGateway:            {"class-before-use", "gateway.networking.k8s.io", "Gateway"},
	kindPriorityClass:      {"class-before-use", "scheduling.k8s.io", "PriorityClass"},
	kindRuntimeClass:       {"class-before-use", "node.k8s.io", "RuntimeClass"},
	kindService:            {"service-before-use", "", "Service"},
	kindAPIService:         {"apiservice-before-use", "apiregistration.k8s.io", "APIService"},
	kindRole:               {"", "rbac.authorization.k8s.io", "Role"},
	kindClusterRole:        {"", "rbac.authorization.k8s.io", "ClusterRole"},
}

// ruleOf names the rule that judges the order of a kind of thing. What an object
// belongs to (a topic to its Kafka) is brought to Ready by it.
func ruleOf(kind string) string {
	if group, ok := strings.CutPrefix(kind, kindInstance); ok {
		if strings.HasPrefix(group, "secrets.hashicorp.com/") || strings.HasPrefix(group, generators+"/") {
			return "secretstore-before-use"
		}
		return "controller-before-use"
	}
	if strings.HasPrefix(kind, kindParameters) {
		return judged[kindGatewayClass].rule
	}
	return judged[kind].rule
}

// required names the thing of a key as a resource.
func (w *world) required(k key) finding.Resource {
	r := finding.Resource{Group: judged[k.Kind].group, Kind: judged[k.Kind].kind, Namespace: k.Namespace, Name: k.Name}
	for _, prefix := range []string{kindInstance, kindParameters} {
		if of, ok := strings.CutPrefix(k.Kind, prefix); ok {
			r.Group, r.Kind, _ = strings.Cut(of, "/")
			return r
		}
	}
	switch k.Kind {
	case kindKind:
		group, kind, _ := strings.Cut(k.Name, "/")
		r.Name = w.resource(group, kind) + "." + group
	case kindController:
		r.Group, _, _ = strings.Cut(k.Name, "/")
	case kindStorageClass:
		if k.Name == defaultClass {
			r.Name = "(default)"
		}
	}
	return r
}
