package network

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// balancerTakes is how long a load balancer takes to get its address. lookAgain is
// when something is looked at again that nobody tells of.
const (
	balancerTakes = 5 * time.Second
	lookAgain     = 10 * time.Second
)

// Network is the inside of the simulated cluster.
type Network struct {
	world        *world.World
	workloads    *world.Workloads
	rules        func() *rule.Set
	certificates egress.Certificates
	listener     *pipes
	waiting      world.Waiting
	apiServices  cache.SharedIndexInformer
	injections   *world.Loop
	balancers    *world.Loop

	mu        sync.Mutex
	seen      map[string]time.Time // Services of type LoadBalancer, since when
	addresses map[string]string    // by Service key
}

// New makes the network and adds its handlers to the world. Without
// certificates no webhook is served.
func New(w *world.World, workloads *world.Workloads, rules func() *rule.Set, certificates egress.Certificates) *Network {
	n := &Network{
		world: w, workloads: workloads, rules: rules, certificates: certificates,
		injections: world.NewLoop("injections", w.Clock, w.Log), balancers: world.NewLoop("load balancers", w.Clock, w.Log),
		seen: map[string]time.Time{}, addresses: map[string]string{},
	}
	w.Services.Watch(func(s *corev1.Service, _ bool) { n.balancers.Add(s.Namespace + "/" + s.Name) })
	if certificates == nil {
		n.listener = newPipes(nil)
		return n
	}
	n.listener = newPipes(serverConfig(certificates))
	n.apiServices = dynamicinformer.NewFilteredDynamicInformer(w.Dynamic, apiServiceResource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	_, _ = n.apiServices.AddEventHandler(world.Handler(func(u *unstructured.Unstructured, _ bool) { n.injections.Add(apiServices + "|" + u.GetName()) }))
	w.Validating.Watch(func(c *admissionv1.ValidatingWebhookConfiguration, _ bool) {
		n.injections.Add(world.Validating + "|" + c.Name)
	})
	w.Mutating.Watch(func(c *admissionv1.MutatingWebhookConfiguration, _ bool) {
		n.injections.Add(world.Mutating + "|" + c.Name)
	})
	w.Definitions.Watch(func(c *apiextensionsv1.CustomResourceDefinition, _ bool) {
		if len(definitionHooks(c)) > 0 {
			n.injections.Add(world.Definitions + "|" + c.Name)
		}
	})
	w.Secrets.Watch(func(s *corev1.Secret, _ bool) {
		n.injections.Add(n.waiting.On(world.Ref{Kind: world.Secrets, Namespace: s.Namespace, Name: s.Name})...)
	})
	workloads.Listen(func(world.Workload) { n.Refresh() })
	return n
}

// serverConfig speaks HTTP/1.1 only: one review, one connection is enough.
func serverConfig(c egress.Certificates) *tls.Config {
	config := c.ServerConfig().Clone()
	config.NextProtos = []string{"http/1.1"}
	return config
}

// Refresh looks at every caBundle again.
func (n *Network) Refresh() {
	if n.certificates == nil {
		return
	}
	for _, kind := range []string{world.Validating, world.Mutating, world.Definitions, apiServices} {
		for _, name := range n.names(kind) {
			n.injections.Add(kind + "|" + name)
		}
	}
}

// Run works until ctx ends.
func (n *Network) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { n.balancers.Run(ctx, 1, n.balance); return nil })
	g.Go(func() error { return n.serve(ctx) })
	if n.certificates != nil {
		g.Go(func() error { n.apiServices.RunWithContext(ctx); return nil })
		g.Go(func() error { n.injections.Run(ctx, 1, n.inject); return nil })
	}
	return g.Wait()
}

// balance gives a Service of type LoadBalancer its address.
func (n *Network) balance(ctx context.Context, key string) (time.Duration, error) {
	ns, name := world.SplitKey(key)
	s := n.world.Services.Get(ns, name)
	if s == nil || s.Spec.Type != corev1.ServiceTypeLoadBalancer || s.DeletionTimestamp != nil || len(s.Status.LoadBalancer.Ingress) > 0 {
		n.mu.Lock()
		delete(n.seen, key)
		n.mu.Unlock()
		return 0, nil
	}
	n.mu.Lock()
	if _, ok := n.seen[key]; !ok {
		n.seen[key] = n.world.Clock.Now()
	}
	left := n.seen[key].Add(balancerTakes).Sub(n.world.Clock.Now())
	n.mu.Unlock()
	if left > 0 {
		return left, nil
	}
	s = s.DeepCopy()
	mode := corev1.LoadBalancerIPModeVIP
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: n.address(s), IPMode: &mode}}
	_, err := n.world.Client.CoreV1().Services(ns).UpdateStatus(ctx, s, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("give Service %s its address: %w", key, err)
	}
	return 0, nil
}

// address is the next of 172.18.0.0/16, or the one the Service asks for.
func (n *Network) address(s *corev1.Service) string {
	if asked := s.Spec.LoadBalancerIP; asked != "" && !strings.Contains(asked, ":") {
		return asked
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := s.Namespace + "/" + s.Name
	if n.addresses[key] == "" {
		i := len(n.addresses) + 1
		n.addresses[key] = fmt.Sprintf("172.18.%d.%d", 1+i/254%254, 1+i%254)
	}
	return n.addresses[key]
}
