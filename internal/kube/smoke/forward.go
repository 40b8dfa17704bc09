package smoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Forwarder returns a Dialer for checks that run outside the cluster: an address
// of a Service is reached through a forwarded port of one of its ready pods,
// every other address directly.
func Forwarder(config *rest.Config, client Client) Dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, portText, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("%q is not host:port", address)
		}
		name, namespace, inside := ServiceOf(host, "")
		if !inside {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		port, err := strconv.Atoi(portText)
		if err != nil {
			return nil, fmt.Errorf("%q is not a port number", portText)
		}
		to, err := podBehind(ctx, client, namespace, name, port)
		if err != nil {
			return nil, err
		}
		return forward(ctx, config, to)
	}
}

// podPort is a port of a pod.
type podPort struct {
	namespace, pod string
	port           int64
}

// podBehind finds a ready pod of a Service and its port for a port of the
// Service.
func podBehind(ctx context.Context, client Client, namespace, name string, port int) (podPort, error) {
	service, err := client.Get(ctx, schema.GroupKind{Kind: "Service"}, namespace, name)
	if err != nil {
		return podPort{}, err
	}
	portName, found := "", false
	spec, _ := service.Object["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	for _, p := range ports {
		m, _ := p.(map[string]any)
		if n, ok := m["port"].(int64); ok && n == int64(port) {
			portName, _ = m["name"].(string)
			found = true
		}
	}
	if !found {
		return podPort{}, fmt.Errorf("Service %s/%s has no port %d", namespace, name, port)
	}
	list, err := client.List(ctx, schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}, namespace)
	if err != nil {
		return podPort{}, err
	}
	for _, s := range list {
		if s.GetLabels()["kubernetes.io/service-name"] != name {
			continue
		}
		target, ok := namedPort(s.Object, portName)
		if !ok {
			continue
		}
		endpoints, _ := s.Object["endpoints"].([]any)
		for _, e := range endpoints {
			m, _ := e.(map[string]any)
			conditions, _ := m["conditions"].(map[string]any)
			ref, _ := m["targetRef"].(map[string]any)
			pod, _ := ref["name"].(string)
			if ready, said := conditions["ready"].(bool); pod != "" && (!said || ready) {
				return podPort{namespace, pod, target}, nil
			}
		}
	}
	return podPort{}, fmt.Errorf("Service %s/%s has no ready endpoint", namespace, name)
}

// namedPort returns the port of an EndpointSlice by its name.
func namedPort(slice map[string]any, name string) (int64, bool) {
	ports, _ := slice["ports"].([]any)
	for _, p := range ports {
		m, _ := p.(map[string]any)
		if n, _ := m["name"].(string); n == name {
			port, ok := m["port"].(int64)
			return port, ok
		}
	}
	return 0, false
}

var errForwardEnded = errors.New("it ended before it was ready")

// forward opens a connection to a port of a pod through the API server.
func forward(ctx context.Context, config *rest.Config, to podPort) (net.Conn, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	target := server.JoinPath("api", "v1", "namespaces", url.PathEscape(to.namespace), "pods", url.PathEscape(to.pod), "portforward")
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("0:%d", to.port)}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("forward a port: %w", err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return nil, fmt.Errorf("forward a port of pod %s: %w", to.pod, cmp.Or(err, errForwardEnded))
	case <-ctx.Done():
		close(stop)
		return nil, ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err == nil && len(ports) == 0 {
		err = errors.New("no port was opened")
	}
	if err != nil {
		close(stop)
		return nil, fmt.Errorf("forward a port of pod %s: %w", to.pod, err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))))
	if err != nil {
		close(stop)
		return nil, err
	}
	return &forwarded{Conn: conn, stop: stop}, nil
}

// forwarded is a connection that ends its forwarding with it.
type forwarded struct {
	net.Conn
	stop chan struct{}
}

// Close implements net.Conn.
func (f *forwarded) Close() error {
	err := f.Conn.Close()
	select {
	case <-f.stop:
	default:
		close(f.stop)
	}
	return err
}
