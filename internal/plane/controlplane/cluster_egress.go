package controlplane

import (
	"context"
	"net"
	"net/url"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
)

// egressTo sends every connection that the API server opens, but those to etcd,
// to the simulated cluster.
func egressTo(backend egress.WebhookBackend) *egressselector.EgressSelector {
	dial := utilnet.DialFunc(func(ctx context.Context, _, address string) (net.Conn, error) {
		return backend.Dial(ctx, address)
	})
	return egressselector.NewEgressSelectorWithMap(map[egressselector.EgressType]utilnet.DialFunc{
		egressselector.Cluster:      dial,
		egressselector.ControlPlane: dial,
	})
}

// namedServices resolves a Service to its name instead of its cluster address,
// so that the dialler still knows which Service is meant. What cannot be
// resolved in a real cluster (no Service, no such port, headless) fails with the
// same words.
type namedServices struct {
	real webhook.ServiceResolver
}

// ResolveEndpoint implements webhook.ServiceResolver.
func (s namedServices) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if _, err := s.real.ResolveEndpoint(namespace, name, port); err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "https", Host: egress.Service{Namespace: namespace, Name: name, Port: port}.Host()}, nil
}

// trusting adds an authority to those that a webhook's client configuration
// trusts; the webhook's own caBundle is added by the caller.
func trusting(bundle []byte) webhook.AuthenticationInfoResolverWrapper {
	add := func(c *rest.Config, err error) (*rest.Config, error) {
		if err != nil {
			return nil, err
		}
		c = rest.CopyConfig(c)
		c.CAData = append(append([]byte{}, c.CAData...), bundle...)
		return c, nil
	}
	return func(next webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return &webhook.AuthenticationInfoResolverDelegator{
			ClientConfigForFunc: func(hostPort string) (*rest.Config, error) {
				return add(next.ClientConfigFor(hostPort))
			},
			ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
				return add(next.ClientConfigForService(name, namespace, port))
			},
		}
	}
}

// both applies the first wrapper, then the second around it.
func both(first, second webhook.AuthenticationInfoResolverWrapper) webhook.AuthenticationInfoResolverWrapper {
	return func(r webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
		return second(first(r))
	}
}
