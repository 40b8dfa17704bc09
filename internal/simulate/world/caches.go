package world

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	extlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
)

type caches struct {
	pods         corelisters.PodLister
	secrets      corelisters.SecretLister
	configMaps   corelisters.ConfigMapLister
	claims       corelisters.PersistentVolumeClaimLister
	volumes      corelisters.PersistentVolumeLister
	services     corelisters.ServiceLister
	nodes        corelisters.NodeLister
	slices       discoverylisters.EndpointSliceLister
	classes      storagelisters.StorageClassLister
	deployments  appslisters.DeploymentLister
	statefulSets appslisters.StatefulSetLister
	daemonSets   appslisters.DaemonSetLister
	replicaSets  appslisters.ReplicaSetLister
	jobs         batchlisters.JobLister
	definitions  extlisters.CustomResourceDefinitionLister
	validating   admissionlisters.ValidatingWebhookConfigurationLister
	mutating     admissionlisters.MutatingWebhookConfigurationLister

	byKind map[string]cache.SharedIndexInformer
}

// The kinds that World caches, as Watch names them.
const (
	Pods         = "Pod"
	Secrets      = "Secret"
	ConfigMaps   = "ConfigMap"
	Claims       = "PersistentVolumeClaim"
	Volumes      = "PersistentVolume"
	Services     = "Service"
	Nodes        = "Node"
	Endpoints    = "discovery.k8s.io/EndpointSlice"
	Classes      = "storage.k8s.io/StorageClass"
	Deployments  = "apps/Deployment"
	StatefulSets = "apps/StatefulSet"
	DaemonSets   = "apps/DaemonSet"
	ReplicaSets  = "apps/ReplicaSet"
	Jobs         = "batch/Job"
	Definitions  = "apiextensions.k8s.io/CustomResourceDefinition"
	Validating   = "admissionregistration.k8s.io/ValidatingWebhookConfiguration"
	Mutating     = "admissionregistration.k8s.io/MutatingWebhookConfiguration"
)

func newCaches(f informers.SharedInformerFactory, ext extinformers.SharedInformerFactory) caches {
	core, apps, admission := f.Core().V1(), f.Apps().V1(), f.Admissionregistration().V1()
	return caches{
		pods: core.Pods().Lister(), secrets: core.Secrets().Lister(), configMaps: core.ConfigMaps().Lister(),
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		services: core.Services().Lister(), nodes: core.Nodes().Lister(),
		slices: f.Discovery().V1().EndpointSlices().Lister(), classes: f.Storage().V1().StorageClasses().Lister(),
		deployments: apps.Deployments().Lister(), statefulSets: apps.StatefulSets().Lister(),
		daemonSets: apps.DaemonSets().Lister(), replicaSets: apps.ReplicaSets().Lister(),
		jobs:        f.Batch().V1().Jobs().Lister(),
		definitions: ext.Apiextensions().V1().CustomResourceDefinitions().Lister(),
		validating:  admission.ValidatingWebhookConfigurations().Lister(), mutating: admission.MutatingWebhookConfigurations().Lister(),
		byKind: map[string]cache.SharedIndexInformer{
			Pods: core.Pods().Informer(), Secrets: core.Secrets().Informer(), ConfigMaps: core.ConfigMaps().Informer(),
			Claims: core.PersistentVolumeClaims().Informer(), Volumes: core.PersistentVolumes().Informer(),
			Services: core.Services().Informer(), Nodes: core.Nodes().Informer(),
			Endpoints: f.Discovery().V1().EndpointSlices().Informer(), Classes: f.Storage().V1().StorageClasses().Informer(),
			Deployments: apps.Deployments().Informer(), StatefulSets: apps.StatefulSets().Informer(),
			DaemonSets: apps.DaemonSets().Informer(), ReplicaSets: apps.ReplicaSets().Informer(),
			Jobs:        f.Batch().V1().Jobs().Informer(),
			Definitions: ext.Apiextensions().V1().CustomResourceDefinitions().Informer(),
			Validating:  admission.ValidatingWebhookConfigurations().Informer(), Mutating: admission.MutatingWebhookConfigurations().Informer(),
		},
	}
}

// Watch adds a handler for a cached kind. Call it before Start.
func (w *World) Watch(kind string, h cache.ResourceEventHandler) {
	// Adding fails only on a stopped informer: then nobody listens any more.
	_, _ = w.caches.byKind[kind].AddEventHandler(h)
}

// The look-ups return nil where the object does not exist; what they return is
// shared and must not be changed.

// Pod looks up a pod.
func (w *World) Pod(namespace, name string) *corev1.Pod {
	return found(w.caches.pods.Pods(namespace).Get(name))
}

// Secret looks up a Secret.
func (w *World) Secret(namespace, name string) *corev1.Secret {
	return found(w.caches.secrets.Secrets(namespace).Get(name))
}

// ConfigMap looks up a ConfigMap.
func (w *World) ConfigMap(namespace, name string) *corev1.ConfigMap {
	return found(w.caches.configMaps.ConfigMaps(namespace).Get(name))
}

// Claim looks up a PersistentVolumeClaim.
func (w *World) Claim(namespace, name string) *corev1.PersistentVolumeClaim {
	return found(w.caches.claims.PersistentVolumeClaims(namespace).Get(name))
}

// Volume looks up a PersistentVolume.
func (w *World) Volume(name string) *corev1.PersistentVolume {
	return found(w.caches.volumes.Get(name))
}

// Service looks up a Service.
func (w *World) Service(namespace, name string) *corev1.Service {
	return found(w.caches.services.Services(namespace).Get(name))
}

// Node looks up a node.
func (w *World) Node(name string) *corev1.Node { return found(w.caches.nodes.Get(name)) }

// StorageClass looks up a StorageClass.
func (w *World) StorageClass(name string) *storagev1.StorageClass {
	return found(w.caches.classes.Get(name))
}

// Deployment looks up a Deployment.
func (w *World) Deployment(namespace, name string) *appsv1.Deployment {
	return found(w.caches.deployments.Deployments(namespace).Get(name))
}

// StatefulSet looks up a StatefulSet.
func (w *World) StatefulSet(namespace, name string) *appsv1.StatefulSet {
	return found(w.caches.statefulSets.StatefulSets(namespace).Get(name))
}

// DaemonSet looks up a DaemonSet.
func (w *World) DaemonSet(namespace, name string) *appsv1.DaemonSet {
	return found(w.caches.daemonSets.DaemonSets(namespace).Get(name))
}

// ReplicaSet looks up a ReplicaSet.
func (w *World) ReplicaSet(namespace, name string) *appsv1.ReplicaSet {
	return found(w.caches.replicaSets.ReplicaSets(namespace).Get(name))
}

// Job looks up a Job.
func (w *World) Job(namespace, name string) *batchv1.Job {
	return found(w.caches.jobs.Jobs(namespace).Get(name))
}

// Definition looks up a CustomResourceDefinition.
func (w *World) Definition(name string) *apiextensionsv1.CustomResourceDefinition {
	return found(w.caches.definitions.Get(name))
}

// ValidatingWebhooks looks up a ValidatingWebhookConfiguration.
func (w *World) ValidatingWebhooks(name string) *admissionv1.ValidatingWebhookConfiguration {
	return found(w.caches.validating.Get(name))
}

// MutatingWebhooks looks up a MutatingWebhookConfiguration.
func (w *World) MutatingWebhooks(name string) *admissionv1.MutatingWebhookConfiguration {
	return found(w.caches.mutating.Get(name))
}

// ValidatingAll lists every ValidatingWebhookConfiguration, in no order.
func (w *World) ValidatingAll() []*admissionv1.ValidatingWebhookConfiguration {
	return all(w.caches.validating.List(labels.Everything()))
}

// MutatingAll lists every MutatingWebhookConfiguration, in no order.
func (w *World) MutatingAll() []*admissionv1.MutatingWebhookConfiguration {
	return all(w.caches.mutating.List(labels.Everything()))
}

// DefinitionsAll lists every CustomResourceDefinition, in no order.
func (w *World) DefinitionsAll() []*apiextensionsv1.CustomResourceDefinition {
	return all(w.caches.definitions.List(labels.Everything()))
}

// AllPods lists every pod of a namespace that a selector matches, in no order.
func (w *World) AllPods(namespace string, s labels.Selector) []*corev1.Pod {
	return all(w.caches.pods.Pods(namespace).List(s))
}

// ServicesAll lists every Service, in no order.
func (w *World) ServicesAll() []*corev1.Service {
	return all(w.caches.services.List(labels.Everything()))
}

// ClaimsAll lists every claim, in no order.
func (w *World) ClaimsAll() []*corev1.PersistentVolumeClaim {
	return all(w.caches.claims.List(labels.Everything()))
}

// EndpointSlices lists the slices of a Service, in no order.
func (w *World) EndpointSlices(namespace, service string) []*discoveryv1.EndpointSlice {
	s := labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service})
	return all(w.caches.slices.EndpointSlices(namespace).List(s))
}

// ReadyEndpoints counts the ready addresses behind a Service.
func (w *World) ReadyEndpoints(namespace, service string) int {
	n := 0
	for _, slice := range w.EndpointSlices(namespace, service) {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				n += len(e.Addresses)
			}
		}
	}
	return n
}

func found[T any](obj *T, err error) *T {
	if err != nil {
		return nil // a lister fails only with not found
	}
	return obj
}

func all[T any](objs []*T, err error) []*T {
	if err != nil {
		return nil // a lister never fails to list
	}
	return objs
}
