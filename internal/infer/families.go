package infer

import (
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
)

// family is one kind of capability: who provides it and who requires it.
type family struct {
	// component says what a component provides by its descriptor.
	component func(c *component.Component, add func(k key, by string, at finding.Position))
	// provides says what an object provides.
	provides func(o object, add func(key))
	// requires says what an object needs.
	requires func(w world, o object, add func(need))
	// once keeps one need per component: the objects that share it are many
	// and alike.
	once bool
}

// families are all that is known. Webhooks are apart: what intercepts an object
// is not named by it.
var families = []family{
	{provides: providesKind, requires: requiresKind, once: true},
	{component: createsNamespace, provides: providesNamespace, requires: requiresNamespace, once: true},
	{provides: providesController, requires: requiresController, once: true},
	{provides: providesSecret, requires: secretsOfPods},
	{requires: secretsOfRoutes},
	{requires: secretsOfStores},
	{requires: secretsOfResources},
	{provides: providesConfigMap},
	{provides: providesServiceAccount, requires: requiresServiceAccount},
	{provides: providesStorage, requires: requiresStorage},
	{provides: providesStore, requires: requiresStore},
	{provides: providesIssuer, requires: requiresIssuer},
	{provides: providesClass, requires: requiresClass},
	{provides: providesService, requires: requiresService},
}

// builtin reports whether every cluster has the thing by itself. Source:
// Kubernetes creates these namespaces, a ServiceAccount "default" and a
// ConfigMap "kube-root-ca.crt" in every namespace, and two priority classes.
func builtin(k key) bool {
	switch k.Kind {
	case kindNamespace:
		return systemNamespace(k.Name)
	case kindServiceAccount:
		return k.Name == "default" || systemNamespace(k.Namespace)
	case kindConfigMap:
		return k.Name == "kube-root-ca.crt"
	case kindPriorityClass:
		return k.Name == "system-node-critical" || k.Name == "system-cluster-critical"
	}
	return false
}

func systemNamespace(name string) bool {
	switch name {
	case "kube-system", "default", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

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

	// These two are not written in descriptors.
	kindKind       = "kind"       // by "group/Kind"
	kindController = "controller" // by "group/Kind" or "group/*"
)

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
