package egress

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// WebhookBackend answers the connections that the plane's API server opens to
// addresses inside the simulated cluster.
type WebhookBackend interface {
	// Dial opens a connection to host, which is one of
	//
	//   - "service.namespace.svc:port": an admission or conversion webhook, or
	//     the Service behind an APIService, or the proxy subresource of a Service;
	//   - "host:port" of a webhook that is configured by URL;
	//   - "10.0.0.1:10250" and the like: the kubelet of a simulated node (logs,
	//     exec, port-forward) or the proxy subresource of a pod or node.
	//
	// The API server speaks TLS over the connection, except to the proxy
	// subresources. An error becomes the reason the API server gives, word for
	// word: `failed calling webhook "x": ... : <error>`. Dial is called
	// concurrently and must give up when ctx ends.
	Dial(ctx context.Context, host string) (net.Conn, error)
}

// DialFunc makes a function a WebhookBackend.
type DialFunc func(ctx context.Context, host string) (net.Conn, error)

// Dial implements WebhookBackend.
func (f DialFunc) Dial(ctx context.Context, host string) (net.Conn, error) { return f(ctx, host) }

// Certificates makes serving certificates that the plane's API server trusts
// for webhooks, whatever the webhook's own caBundle says.
type Certificates interface {
	// ServerConfig answers every server name with a certificate of its own,
	// signed by the plane's webhook authority.
	ServerConfig() *tls.Config
	// Bundle is the authority's certificate, PEM: what an injector writes into
	// an empty caBundle.
	Bundle() []byte
}

// Refuse is the backend of a plane without a simulated world: every connection
// is refused, as by a Service without endpoints.
func Refuse() WebhookBackend {
	return DialFunc(func(_ context.Context, host string) (net.Conn, error) {
		return nil, &RefusedError{Host: host, Reason: "no endpoints available"}
	})
}

// RefusedError is a connection that a backend did not accept.
type RefusedError struct {
	// Host is the address that was dialled, host:port.
	Host string
	// Reason says why, such as "no endpoints available for service \"x\"".
	Reason string
}

// Error implements error. It reads as the dial error of a real network does.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("dial tcp %s: connect: connection refused (%s)", e.Host, e.Reason)
}
