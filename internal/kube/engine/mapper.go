package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// mapping says how a kind is served.
type mapping struct {
	gvr        schema.GroupVersionResource
	namespaced bool
	watchable  bool
}

// unservedError means that the cluster does not serve a kind.
type unservedError struct{ gvk schema.GroupVersionKind }

// Error implements error.
func (e *unservedError) Error() string {
	return fmt.Sprintf("no matches for kind %s in version %s: its CRD is not installed",
		e.gvk.Kind, e.gvk.GroupVersion())
}

// mapper finds how kinds are served, one group version at a time: asking for a
// single one is cheap, while the discovery of a whole cluster is not, and a kind
// that appears late is found the next time it is asked for.
type mapper struct {
	discovery discovery.DiscoveryInterface

	mu    sync.Mutex
	known map[schema.GroupVersionKind]mapping
	// asking serialises the requests for one group version.
	asking map[schema.GroupVersion]*sync.Mutex
}

func newMapper(d discovery.DiscoveryInterface) *mapper {
	return &mapper{
		discovery: d,
		known:     map[schema.GroupVersionKind]mapping{}, asking: map[schema.GroupVersion]*sync.Mutex{},
	}
}

// lookup returns how a kind is served, or an *unservedError.
func (m *mapper) lookup(gvk schema.GroupVersionKind) (mapping, error) {
	if found, ok := m.cached(gvk); ok {
		return found, nil
	}
	gv := gvk.GroupVersion()
	m.mu.Lock()
	turn := m.asking[gv]
	if turn == nil {
		turn = &sync.Mutex{}
		m.asking[gv] = turn
	}
	m.mu.Unlock()

	turn.Lock()
	defer turn.Unlock()
	if found, ok := m.cached(gvk); ok {
		return found, nil // somebody else has just asked
	}
	list, err := m.discovery.ServerResourcesForGroupVersion(gv.String())
	if apierrors.IsNotFound(err) {
		return mapping{}, &unservedError{gvk}
	}
	if err != nil {
		return mapping{}, fmt.Errorf("discover %s: %w", gv, err)
	}
	m.remember(gv, list)
	if found, ok := m.cached(gvk); ok {
		return found, nil
	}
	return mapping{}, &unservedError{gvk}
}

func (m *mapper) cached(gvk schema.GroupVersionKind) (mapping, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.known[gvk]
	return found, ok
}

func (m *mapper) remember(gv schema.GroupVersion, list *metav1.APIResourceList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range list.APIResources {
		if strings.Contains(r.Name, "/") || (r.Group != "" && r.Group != gv.Group) {
			continue
		}
		m.known[gv.WithKind(r.Kind)] = mapping{
			gvr: gv.WithResource(r.Name), namespaced: r.Namespaced,
			watchable: slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"),
		}
	}
}

// forget drops a kind that the server turned out not to serve any more.
func (m *mapper) forget(gvk schema.GroupVersionKind) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, gvk)
}
