package controlplane

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"
)

// The keys of objects in etcd. Source: Kubernetes, k8s.io/apiserver's default prefix and
// k8s.io/apiextensions-apiserver, crdConversionRESTOptionsGetter.
const (
	objectKeys     = "/registry/"
	definitionKeys = objectKeys + "apiextensions.k8s.io/customresourcedefinitions/"
	quotaKeys      = objectKeys + "resourcequotas/"
)

// ranger reads etcd, until it stops.
type ranger func(r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error)

// inUse discovers the kinds of which there are objects, besides the API's own. The
// collector of garbage, quotas, and the removal of a namespace ask for the objects of
// every kind that is discovered, and the API server then prepares to serve the kind:
// a watch cache, and its schema in three forms, for 4 MB and 0.2 s of CPU time. Of a
// kind that never had objects there is nothing that they could find.
type inUse struct {
	discovery.DiscoveryInterface

	etcd ranger
	mu   sync.Mutex
	// used are the kinds that had objects once: what watches them does not end.
	used map[schema.GroupResource]bool
}

// ServerPreferredResources implements discovery.ServerResourcesInterface.
func (d *inUse) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return d.only(d.DiscoveryInterface.ServerPreferredResources())
}

// ServerPreferredNamespacedResources implements discovery.ServerResourcesInterface.
func (d *inUse) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return d.only(d.DiscoveryInterface.ServerPreferredNamespacedResources())
}

// only leaves out the kinds that are not used. Where etcd does not answer it leaves none
// out.
func (d *inUse) only(lists []*metav1.APIResourceList, failed error) ([]*metav1.APIResourceList, error) {
	if len(lists) == 0 {
		return lists, failed
	}
	unused, err := d.unused()
	if err != nil {
		klog.ErrorS(err, "all kinds count as used")
		return lists, failed
	}
	var used []*metav1.APIResourceList
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			used = append(used, list) // whoever asks reports it
			continue
		}
		kept := *list
		kept.APIResources = slices.DeleteFunc(slices.Clone(list.APIResources), func(r metav1.APIResource) bool {
			return unused[schema.GroupResource{Group: version.Group, Resource: r.Name}]
		})
		used = append(used, &kept)
	}
	return used, failed
}

// unused are the custom resources of which no object was ever stored, and that no quota
// counts: such a quota admits the first object only when it knows that there is none.
func (d *inUse) unused() (map[schema.GroupResource]bool, error) {
	definitions, err := d.below(&etcdserverpb.RangeRequest{Key: []byte(definitionKeys), KeysOnly: true})
	if err != nil {
		return nil, err
	}
	quotas, err := d.below(&etcdserverpb.RangeRequest{Key: []byte(quotaKeys)})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	unused := map[schema.GroupResource]bool{}
	for _, pair := range definitions.Kvs {
		defined := schema.ParseGroupResource(strings.TrimPrefix(string(pair.Key), definitionKeys))
		if d.used[defined] || slices.ContainsFunc(quotas.Kvs, func(quota *mvccpb.KeyValue) bool {
			return bytes.Contains(quota.Value, []byte("count/"+defined.String()))
		}) {
			continue
		}
		objects, err := d.below(&etcdserverpb.RangeRequest{
			Key: []byte(objectKeys + defined.Group + "/" + defined.Resource + "/"), CountOnly: true,
		})
		if err != nil {
			return nil, err
		}
		if objects.Count > 0 {
			d.used[defined] = true
		} else {
			unused[defined] = true
		}
	}
	return unused, nil
}

// below reads what has a prefix, of this member only.
func (d *inUse) below(r *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	r.RangeEnd = []byte(clientv3.GetPrefixRangeEnd(string(r.Key)))
	r.Serializable = true
	found, err := d.etcd(r)
	if err != nil {
		return nil, fmt.Errorf("read %s of etcd: %w", r.Key, err)
	}
	return found, nil
}
