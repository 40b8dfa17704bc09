package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/kube/fence"
)

// configMaps are the requests that the state needs of an API server, for one
// namespace.
type configMaps interface {
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
	List(ctx context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*corev1.ConfigMap, error)
}

// leases are the same for Leases.
type leases interface {
	Create(ctx context.Context, object *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, object *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error)
}

// Cluster is the API server that states are kept on.
type Cluster struct {
	maps   configMaps
	leases leases
	// behind returns maps whose writes pass a fence.
	behind func(*fence.Fence) (configMaps, error)
	// makeNamespace makes the namespace of the states.
	makeNamespace func(context.Context) error
	// Server is the address, for messages.
	Server string
	now    func() time.Time
	// clock is that of leases: it is no time of day, and means nothing elsewhere.
	clock fence.Clock
}

// requestTimeout bounds one request that is no watch.
const requestTimeout = 15 * time.Second

// Connect returns the API server behind access; it does not talk to it yet.
func Connect(access *rest.Config, now func() time.Time) (*Cluster, error) {
	config := rest.CopyConfig(access)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	coordination, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Cluster{
		maps: client.ConfigMaps(Namespace), leases: coordination.Leases(Namespace),
		makeNamespace: func(ctx context.Context) error {
			_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: Namespace, Labels: map[string]string{labelManaged: "ladder"},
			}}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		},
		behind: func(f *fence.Fence) (configMaps, error) {
			config, err := f.Access(config)
			if err != nil {
				return nil, err
			}
			client, err := corev1client.NewForConfig(config)
			if err != nil {
				return nil, fmt.Errorf("connect to the cluster: %w", err)
			}
			return client.ConfigMaps(Namespace), nil
		},
		Server: config.Host, now: now, clock: fence.SinceBoot,
	}, nil
}

// one makes one request, bounded in time.
func one(ctx context.Context, request func(context.Context) error) error {
	return within(ctx, requestTimeout, request)
}

// within makes one request, bounded by d.
func within(ctx context.Context, d time.Duration, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errNoAnswer)
	defer cancel()
	err := request(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return fmt.Errorf("%w within %s", errNoAnswer, d)
	}
	return err
}

var errNoAnswer = errors.New("no answer")

// The waits between two tries of a request.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// persist repeats a request until it is answered with something that repeating
// does not change, or ctx ends.
func persist(ctx context.Context, request func(context.Context) error) error {
	wait := firstPause
	for {
		err := one(ctx, request)
		if !transient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (last answer of the API server: %w)", context.Cause(ctx), err)
		case <-time.After(wait):
		}
		wait = min(2*wait, longestPause)
	}
}

// transient reports errors that go away by themselves: an API server that is
// away, overloaded, or without its etcd. Conflicts are not among them.
func transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || status.Status().Code >= http.StatusInternalServerError
	}
	return errors.Is(err, errNoAnswer) || utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) ||
		utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(net.Error))
}
