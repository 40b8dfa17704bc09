package fence

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// Access is a copy of a configuration whose requests pass the fence, reads aside.
func (f *Fence) Access(config *rest.Config) (*rest.Config, error) {
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: dialTimeout}).DialContext
	}
	writing := rest.CopyConfig(config)
	writing.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{c, f}, nil
	}
	// It authenticates a second time what the copy has authenticated, which changes
	// nothing.
	writes, err := rest.TransportFor(writing)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(reads http.RoundTripper) http.RoundTripper { return &roundTripper{f, reads, writes} })
	return config, nil
}

// dialTimeout is what client-go has where nobody says how to dial.
const dialTimeout = 30 * time.Second

// conn is a connection that nothing is written to which must not reach the server.
type conn struct {
	net.Conn
	fence *Fence
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	return c.fence.send(func(left time.Duration) (int, error) {
		// The time of Go may lag behind that of the fence, but the lease was there a moment
		// ago.
		if err := c.SetWriteDeadline(time.Now().Add(left)); err != nil {
			return 0, err
		}
		return c.Conn.Write(b)
	})
}

type roundTripper struct {
	fence         *Fence
	reads, writes http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.reads.RoundTrip(request)
	}
	ctx, done, err := t.fence.Pass(request.Context())
	if err != nil {
		return nil, closed(request, err)
	}
	if strings.HasSuffix(request.URL.Path, "/portforward") {
		// A stream to a pod writes no object, and lasts longer than a request. It is made
		// by a transport of its own.
		done()
		return t.reads.RoundTrip(request)
	}
	outer := request.Context()
	request = request.Clone(ctx)
	query := request.URL.Query()
	if d, err := time.ParseDuration(query.Get("timeout")); err != nil || d <= 0 || d > RequestTimeout {
		query.Set("timeout", RequestTimeout.String())
		request.URL.RawQuery = query.Encode()
	}
	response, err := t.writes.RoundTrip(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && outer.Err() == nil {
			err = cause
		}
		done()
		return nil, err
	}
	response.Body = &body{response.Body, done}
	return response, nil
}

// closed closes the body of a request that is not made, as RoundTrip must.
func closed(request *http.Request, err error) error {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	return err
}

// body ends the request when its answer was read.
type body struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
