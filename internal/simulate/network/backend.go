package network

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
)

// errUnknownAuthority is what Go's TLS client says of a certificate whose
// authority nobody told it about.
var errUnknownAuthority = errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")

// Dial implements egress.WebhookBackend: it connects to whatever answers behind
// a Service or pod of the plane, as long as one of its pods is ready.
func (n *Network) Dial(ctx context.Context, host string) (net.Conn, error) {
	service, ok := egress.ParseService(host)
	if !ok {
		service, ok = n.byAddress(host)
	}
	if ok {
		if err := n.reachable(service, host); err != nil {
			return nil, err
		}
	} else if !n.podReady(host) {
		return nil, &egress.RefusedError{Host: host, Reason: "no ready pod has this address"}
	}
	client, server := net.Pipe()
	select {
	case n.listener.connections <- server:
		return client, nil
	case <-n.listener.closed:
		return nil, &egress.RefusedError{Host: host, Reason: "the simulated world has ended"}
	case <-ctx.Done():
		return nil, fmt.Errorf("dial %s: %w", host, context.Cause(ctx))
	}
}

func (n *Network) reachable(s egress.Service, host string) error {
	service := n.world.Services.Get(s.Namespace, s.Name)
	if service == nil {
		return fmt.Errorf("service %q not found", s.Name)
	}
	if service.Spec.Type != corev1.ServiceTypeExternalName && n.world.ReadyEndpoints(s.Namespace, s.Name) == 0 {
		return &egress.RefusedError{Host: host, Reason: fmt.Sprintf("no endpoints available for service %q", s.Name)}
	}
	if n.awaitsInjection(s) {
		return errUnknownAuthority
	}
	return nil
}

// byAddress finds the Service that has a cluster address.
func (n *Network) byAddress(host string) (egress.Service, bool) {
	address, _, err := net.SplitHostPort(host)
	if err != nil {
		return egress.Service{}, false
	}
	for _, s := range n.world.Services.All() {
		if slices.Contains(s.Spec.ClusterIPs, address) {
			return egress.Service{Namespace: s.Namespace, Name: s.Name}, true
		}
	}
	return egress.Service{}, false
}

func (n *Network) podReady(host string) bool {
	address, _, err := net.SplitHostPort(host)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(n.world.Pods.All(), func(p *corev1.Pod) bool {
		return p.Status.PodIP == address && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
}

// serve answers the connections until ctx ends.
func (n *Network) serve(ctx context.Context) error {
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() {
		n.listener.close()
		_ = server.Close() // the connections are pipes of our own
	})
	defer stop()
	if err := server.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	return nil
}

// pipes is a listener whose connections are handed to it.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
	tls         *tls.Config
}

func newPipes(config *tls.Config) *pipes {
	return &pipes{connections: make(chan net.Conn), closed: make(chan struct{}), tls: config}
}

// Accept implements net.Listener. A client that greets with TLS gets it, any
// other speaks plainly, as through the proxy subresources.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return &sniffed{Conn: c, tls: p.tls}, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error { p.close(); return nil }

func (p *pipes) close() { p.once.Do(func() { close(p.closed) }) }

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return pipeAddress{} }

type pipeAddress struct{}

func (pipeAddress) Network() string { return "pipe" }
func (pipeAddress) String() string  { return "pipe" }

// sniffed is a connection that decides at its first byte whether it is TLS: the
// first byte of a handshake is 0x16 (RFC 8446, 5.1).
type sniffed struct {
	net.Conn

	tls     *tls.Config
	once    sync.Once
	current net.Conn
	err     error
}

func (s *sniffed) decide() {
	reader := bufio.NewReader(s.Conn)
	head, err := reader.Peek(1)
	if err != nil {
		s.err = err
		return
	}
	buffered := &bufferedConn{Conn: s.Conn, reader: reader}
	s.current = buffered
	if head[0] == 0x16 && s.tls != nil {
		s.current = tls.Server(buffered, s.tls)
	}
}

func (s *sniffed) Read(b []byte) (int, error) {
	s.once.Do(s.decide)
	if s.err != nil {
		return 0, s.err
	}
	return s.current.Read(b)
}

func (s *sniffed) Write(b []byte) (int, error) {
	s.once.Do(s.decide)
	if s.err != nil {
		return 0, s.err
	}
	return s.current.Write(b)
}

type bufferedConn struct {
	net.Conn

	reader *bufio.Reader
}

func (b *bufferedConn) Read(p []byte) (int, error) { return b.reader.Read(p) }
