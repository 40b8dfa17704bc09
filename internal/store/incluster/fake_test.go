package incluster

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rollout-ladder/ladder/internal/kube/fence"
)

// errCrash is the answer of a server to a process that is killed meanwhile.
var errCrash = errors.New("killed")

// server is an API server in memory with what the state relies on: resource
// versions, names that are taken, label selectors. fault is asked before every
// write; what it returns is the answer, before or after the write was carried
// out.
type server struct {
	mu      sync.Mutex
	version int
	maps    map[string]*corev1.ConfigMap
	leases  map[string]*coordinationv1.Lease
	fault   func() (answer error, after bool)
	writes  int
}

func newServer() *server {
	return &server{maps: map[string]*corev1.ConfigMap{}, leases: map[string]*coordinationv1.Lease{}}
}

func (s *server) cluster() *Cluster {
	return &Cluster{
		maps: memoryMaps{server: s}, leases: memoryLeases{s}, Server: "https://memory",
		behind:        func(f *fence.Fence) (configMaps, error) { return memoryMaps{s, f}, nil },
		makeNamespace: func(context.Context) error { return nil }, now: time.Now,
		clock: func() time.Duration { return time.Since(time.Unix(0, 0)) },
	}
}

// write carries out a write, or fails as the fault says.
func (s *server) write(change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	var answer error
	var after bool
	if s.fault != nil {
		answer, after = s.fault()
	}
	if answer != nil && !after {
		return answer
	}
	if err := change(); err != nil {
		return err
	}
	return answer
}

func (s *server) next() string {
	s.version++
	return strconv.Itoa(s.version)
}

func resource(name string) schema.GroupResource { return schema.GroupResource{Resource: name} }

func unavailable() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusServiceUnavailable, Message: "etcd is away"}}
}

// memoryMaps are behind a fence where there is one.
type memoryMaps struct {
	*server
	fence *fence.Fence
}

func (m memoryMaps) write(ctx context.Context, change func() error) error {
	if m.fence != nil {
		_, done, err := m.fence.Pass(ctx)
		if err != nil {
			return err
		}
		defer done()
	}
	return m.server.write(change)
}

func (m memoryMaps) Create(ctx context.Context, o *corev1.ConfigMap, _ metav1.CreateOptions) (out *corev1.ConfigMap, err error) {
	err = m.write(ctx, func() error {
		if m.maps[o.Name] != nil {
			return apierrors.NewAlreadyExists(resource("configmaps"), o.Name)
		}
		out = o.DeepCopy()
		out.ResourceVersion = m.next()
		m.maps[o.Name] = out.DeepCopy()
		return nil
	})
	return out.DeepCopy(), err
}

func (m memoryMaps) Update(ctx context.Context, o *corev1.ConfigMap, _ metav1.UpdateOptions) (out *corev1.ConfigMap, err error) {
	err = m.write(ctx, func() error {
		old := m.maps[o.Name]
		if old == nil {
			return apierrors.NewNotFound(resource("configmaps"), o.Name)
		}
		if o.ResourceVersion != "" && o.ResourceVersion != old.ResourceVersion {
			return apierrors.NewConflict(resource("configmaps"), o.Name, errors.New("changed"))
		}
		out = o.DeepCopy()
		out.ResourceVersion = m.next()
		m.maps[o.Name] = out.DeepCopy()
		return nil
	})
	return out.DeepCopy(), err
}

func (m memoryMaps) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (out *corev1.ConfigMap, err error) {
	err = m.write(ctx, func() error {
		old := m.maps[name]
		if old == nil {
			return apierrors.NewNotFound(resource("configmaps"), name)
		}
		var patch struct {
			BinaryData map[string][]byte  `json:"binaryData"`
			Data       map[string]*string `json:"data"`
		}
		if err := json.Unmarshal(data, &patch); err != nil {
			return err
		}
		out = old.DeepCopy()
		if out.BinaryData == nil {
			out.BinaryData = map[string][]byte{}
		}
		if out.Data == nil {
			out.Data = map[string]string{}
		}
		maps.Copy(out.BinaryData, patch.BinaryData)
		for k, v := range patch.Data {
			if v == nil {
				delete(out.Data, k)
			} else {
				out.Data[k] = *v
			}
		}
		out.ResourceVersion = m.next()
		m.maps[name] = out.DeepCopy()
		return nil
	})
	return out.DeepCopy(), err
}

func (m memoryMaps) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	return m.write(ctx, func() error { delete(m.maps, name); return nil })
}

func (m memoryMaps) DeleteCollection(ctx context.Context, _ metav1.DeleteOptions, list metav1.ListOptions) error {
	selector, err := labels.Parse(list.LabelSelector)
	if err != nil {
		return err
	}
	return m.write(ctx, func() error {
		for name, o := range m.maps {
			if selector.Matches(labels.Set(o.Labels)) {
				delete(m.maps, name)
			}
		}
		return nil
	})
}

func (m memoryMaps) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.maps[name]; o != nil {
		return o.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource("configmaps"), name)
}

func (m memoryMaps) List(_ context.Context, list metav1.ListOptions) (*corev1.ConfigMapList, error) {
	selector, err := labels.Parse(list.LabelSelector)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &corev1.ConfigMapList{}
	for _, o := range m.maps {
		if selector.Matches(labels.Set(o.Labels)) {
			out.Items = append(out.Items, *o.DeepCopy())
		}
	}
	return out, nil
}

func (m memoryMaps) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, errors.New("not in memory")
}

type memoryLeases struct{ *server }

func (m memoryLeases) Create(_ context.Context, o *coordinationv1.Lease, _ metav1.CreateOptions) (out *coordinationv1.Lease, err error) {
	err = m.write(func() error {
		if m.leases[o.Name] != nil {
			return apierrors.NewAlreadyExists(resource("leases"), o.Name)
		}
		out = o.DeepCopy()
		out.ResourceVersion = m.next()
		m.leases[o.Name] = out.DeepCopy()
		return nil
	})
	return out.DeepCopy(), err
}

func (m memoryLeases) Update(_ context.Context, o *coordinationv1.Lease, _ metav1.UpdateOptions) (out *coordinationv1.Lease, err error) {
	err = m.write(func() error {
		old := m.leases[o.Name]
		if old == nil {
			return apierrors.NewNotFound(resource("leases"), o.Name)
		}
		if o.ResourceVersion != old.ResourceVersion {
			return apierrors.NewConflict(resource("leases"), o.Name, errors.New("changed"))
		}
		out = o.DeepCopy()
		out.ResourceVersion = m.next()
		m.leases[o.Name] = out.DeepCopy()
		return nil
	})
	return out.DeepCopy(), err
}

func (m memoryLeases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.leases[name]; o != nil {
		return o.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource("leases"), name)
}

func (m memoryLeases) List(context.Context, metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	return &coordinationv1.LeaseList{}, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
