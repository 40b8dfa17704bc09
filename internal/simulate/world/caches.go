package world

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// The kinds that World caches, as rules name them.
const (
	Pods         = "Pod"
	Secrets      = "Secret"
	ConfigMaps   = "ConfigMap"
	Claims       = "PersistentVolumeClaim"
	Services     = "Service"
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

// Caches hold every object of the kinds that the simulated world looks at.
type Caches struct {
	Pods         Cache[corev1.Pod]
	Secrets      Cache[corev1.Secret]
	ConfigMaps   Cache[corev1.ConfigMap]
	Claims       Cache[corev1.PersistentVolumeClaim]
	Volumes      Cache[corev1.PersistentVolume]
	Services     Cache[corev1.Service]
	Nodes        Cache[corev1.Node]
	Namespaces   Cache[corev1.Namespace]
	Slices       Cache[discoveryv1.EndpointSlice]
	Classes      Cache[storagev1.StorageClass]
	Deployments  Cache[appsv1.Deployment]
	StatefulSets Cache[appsv1.StatefulSet]
	DaemonSets   Cache[appsv1.DaemonSet]
	ReplicaSets  Cache[appsv1.ReplicaSet]
	Jobs         Cache[batchv1.Job]
	Autoscalers  Cache[autoscalingv2.HorizontalPodAutoscaler]
	Definitions  Cache[apiextensionsv1.CustomResourceDefinition]
	Validating   Cache[admissionv1.ValidatingWebhookConfiguration]
	Mutating     Cache[admissionv1.MutatingWebhookConfiguration]
}

func newCaches(f informers.SharedInformerFactory, ext extinformers.SharedInformerFactory) Caches {
	core, apps, admission := f.Core().V1(), f.Apps().V1(), f.Admissionregistration().V1()
	return Caches{
		Pods:         Cache[corev1.Pod]{core.Pods().Informer()},
		Secrets:      Cache[corev1.Secret]{core.Secrets().Informer()},
		ConfigMaps:   Cache[corev1.ConfigMap]{core.ConfigMaps().Informer()},
		Claims:       Cache[corev1.PersistentVolumeClaim]{core.PersistentVolumeClaims().Informer()},
		Volumes:      Cache[corev1.PersistentVolume]{core.PersistentVolumes().Informer()},
		Services:     Cache[corev1.Service]{core.Services().Informer()},
		Nodes:        Cache[corev1.Node]{core.Nodes().Informer()},
		Namespaces:   Cache[corev1.Namespace]{core.Namespaces().Informer()},
		Slices:       Cache[discoveryv1.EndpointSlice]{f.Discovery().V1().EndpointSlices().Informer()},
		Classes:      Cache[storagev1.StorageClass]{f.Storage().V1().StorageClasses().Informer()},
		Deployments:  Cache[appsv1.Deployment]{apps.Deployments().Informer()},
		StatefulSets: Cache[appsv1.StatefulSet]{apps.StatefulSets().Informer()},
		DaemonSets:   Cache[appsv1.DaemonSet]{apps.DaemonSets().Informer()},
		ReplicaSets:  Cache[appsv1.ReplicaSet]{apps.ReplicaSets().Informer()},
		Jobs:         Cache[batchv1.Job]{f.Batch().V1().Jobs().Informer()},
		Autoscalers:  Cache[autoscalingv2.HorizontalPodAutoscaler]{f.Autoscaling().V2().HorizontalPodAutoscalers().Informer()},
		Definitions:  Cache[apiextensionsv1.CustomResourceDefinition]{ext.Apiextensions().V1().CustomResourceDefinitions().Informer()},
		Validating:   Cache[admissionv1.ValidatingWebhookConfiguration]{admission.ValidatingWebhookConfigurations().Informer()},
		Mutating:     Cache[admissionv1.MutatingWebhookConfiguration]{admission.MutatingWebhookConfigurations().Informer()},
	}
}

// Cache holds the objects of one kind. What it returns is shared and must not
// be changed.
type Cache[T any] struct{ informer cache.SharedIndexInformer }

// Get looks an object up; nil where it does not exist. Objects of a cluster-wide
// kind have the namespace "".
func (c Cache[T]) Get(namespace, name string) *T {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	o, ok, err := c.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil // a store fails only with not found
	}
	found, _ := o.(*T)
	return found
}

// Object is Get for those who do not know the type; nil where the object does
// not exist.
func (c Cache[T]) Object(namespace, name string) runtime.Object {
	found := c.Get(namespace, name)
	if found == nil {
		return nil
	}
	o, _ := any(found).(runtime.Object)
	return o
}

// List returns what a selector matches in a namespace, "" for all of them, in
// no order.
func (c Cache[T]) List(namespace string, selector labels.Selector) []*T {
	var found []*T
	add := func(o any) {
		if o, ok := o.(*T); ok {
			found = append(found, o)
		}
	}
	// Listing fails only for want of an index, and then falls back on the store.
	_ = cache.ListAllByNamespace(c.informer.GetIndexer(), namespace, selector, add)
	return found
}

// All returns every object, in no order.
func (c Cache[T]) All() []*T { return c.List("", labels.Everything()) }

// Watch calls f with every object that is added, changed or deleted, in its last
// known state. Call it before the world starts.
func (c Cache[T]) Watch(f func(o *T, deleted bool)) {
	// Adding fails only on a stopped informer: then nobody listens any more.
	_, _ = c.informer.AddEventHandler(Handler(f))
}

// Finder finds objects of a kind whose type is not known.
type Finder interface {
	Object(namespace, name string) runtime.Object
}

// Finder returns the cache of a kind, as rules name it, for objects that rules
// may look for, and whether the kind has no namespace; nil for a kind that is
// not cached.
func (c *Caches) Finder(kind string) (finder Finder, clusterWide bool) {
	switch kind {
	case Pods:
		return c.Pods, false
	case Secrets:
		return c.Secrets, false
	case ConfigMaps:
		return c.ConfigMaps, false
	case Claims:
		return c.Claims, false
	case Services:
		return c.Services, false
	case Classes:
		return c.Classes, true
	case Deployments:
		return c.Deployments, false
	case StatefulSets:
		return c.StatefulSets, false
	case DaemonSets:
		return c.DaemonSets, false
	case ReplicaSets:
		return c.ReplicaSets, false
	case Jobs:
		return c.Jobs, false
	case Definitions:
		return c.Definitions, true
	}
	return nil, false
}

// ReadyEndpoints counts the ready addresses behind a Service.
func (c *Caches) ReadyEndpoints(namespace, service string) int {
	n := 0
	for _, slice := range c.Slices.List(namespace, labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service})) {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				n += len(e.Addresses)
			}
		}
	}
	return n
}
