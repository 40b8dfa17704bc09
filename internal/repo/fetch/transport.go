package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"oras.land/oras-go/v2/registry/remote/retry"
)

const (
	maxRedirects = 5
	// perHost bounds the connections to one host.
	perHost = 4
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader       = 256 << 10
	responseTimeout = 30 * time.Second
)

// gate is the http.RoundTripper of everything that speaks HTTP. Each request passes
// its checks, those of a redirect too.
type gate struct {
	rules    rules
	direct   *http.Transport
	proxied  *http.Transport
	proxyFor func(*url.URL) (*url.URL, error)
	dialer   *dialer
}

// rules are what holds for an address before it is asked.
type rules struct {
	offline bool
	trusted hostList
}

// newGate makes the two transports. One makes direct connections, which the dialer
// judges. The other speaks to the proxy of the environment only: that proxy is the
// user's choice, so its own address is not judged, and what a name resolves to is
// up to the proxy.
func newGate(r rules, d *dialer, proxies *httpproxy.Config, roots *x509.CertPool) *gate {
	g := &gate{rules: r, dialer: d, proxyFor: proxies.ProxyFunc()}
	transport := func() *http.Transport {
		return &http.Transport{
			DialContext:            d.Dial,
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    2 * dialTimeout,
			ResponseHeaderTimeout:  responseTimeout,
			IdleConnTimeout:        responseTimeout,
			MaxConnsPerHost:        perHost,
			MaxResponseHeaderBytes: maxHeader,
			// Charts are gzip files, which some servers declare as an encoding.
			DisableCompression: true,
		}
	}
	g.direct, g.proxied = transport(), transport()
	g.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return g.proxyFor(r.URL) }
	g.proxied.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) {
		name, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return d.connect(ctx, host{name, port}, func(netip.Addr) error { return nil })
	}
	return g
}

// check refuses an address that must not be asked.
func (r rules) check(text string, schemes ...string) (*url.URL, host, error) {
	if r.offline {
		return nil, host{}, &OfflineError{Address: show(text)}
	}
	u, h, err := parseURL(text, schemes...)
	if err != nil {
		return nil, host{}, err
	}
	if u.Scheme == "http" && !r.trusted.has(h) {
		return nil, host{}, &RefusedError{Address: show(text), Reason: "http is not encrypted", Fix: "use https, or name the host with --allow-host " + h.String()}
	}
	return u, h, nil
}

// RoundTrip implements http.RoundTripper.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	_, h, err := g.rules.check(request.URL.String(), "https", "http")
	if err != nil {
		return nil, err
	}
	if literal, err := netip.ParseAddr(h.name); err == nil {
		if err := g.dialer.judge(h, literal); err != nil {
			return nil, err
		}
	}
	proxy, err := g.proxyFor(request.URL)
	if err != nil {
		return nil, fmt.Errorf("proxy of the environment: %w", err)
	}
	transport := g.direct
	if proxy != nil {
		transport = g.proxied
		if (h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")) && !g.rules.trusted.has(h) {
			return nil, &RefusedError{Address: h.String(), Reason: "behind a proxy it names the machine of the proxy", Fix: "name another host"}
		}
	}
	request = request.Clone(request.Context())
	request.URL.Host = h.String() // in the one form that is judged
	request.Header.Del("Referer") // holds the query of the address before a redirect
	if login, ok := loginFor(request.Context(), request.URL.Scheme, h); ok && request.Header.Get("Authorization") == "" {
		request.SetBasicAuth(login.name, login.password)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		var trouble net.Error
		if proxy == nil && errors.As(err, &trouble) && request.Context().Err() == nil {
			g.dialer.fail(h, fmt.Errorf("%s failed before: %w", h, err))
		}
		return nil, err
	}
	return response, nil
}

// client returns an HTTP client behind the gate.
func (g *gate) client() *http.Client {
	return &http.Client{Transport: &retry.Transport{Base: g, Policy: patience}, CheckRedirect: redirect}
}

// patience is how often a server is asked again that has too much to do, and how long
// Ladder waits before: as long as the server asks for, but not longer than a user would.
func patience() retry.Policy {
	return &retry.GenericPolicy{
		Retryable: func(response *http.Response, err error) (bool, error) {
			return err == nil && busy(response.StatusCode), err
		},
		Backoff: retry.DefaultBackoff, MinWait: 100 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 2,
	}
}

func busy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// redirect decides whether a redirect is followed. The gate judges where it leads.
func redirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	refuse := func(reason string) error {
		return &RefusedError{Address: show(first.URL.String()), Reason: reason, Fix: "write the address that it leads to"}
	}
	switch {
	case len(via) > maxRedirects:
		return refuse("it redirects too often")
	case first.Method != http.MethodGet && first.Method != http.MethodHead:
		return refuse("it redirects what is sent to it")
	case via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https":
		return refuse("it redirects to " + show(next.URL.String()) + ", which is not encrypted")
	}
	if next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		next.Header.Del("Authorization")
		next.Header.Del("Cookie")
	}
	return nil
}

// login is a name and password for one host.
type login struct{ name, password string }

type loginKey struct{}

// logins are the credentials of one download.
type logins struct {
	// written stand in the address itself, and hold for its host alone.
	written  *login
	host     host
	scheme   string
	keychain *keychain
}

// withLogins makes the credentials of the user, and those of an address, known to
// the requests of one download.
func withLogins(ctx context.Context, u *url.URL, h host, k *keychain) context.Context {
	l := logins{host: h, scheme: u.Scheme, keychain: k}
	if u.User != nil {
		password, _ := u.User.Password()
		l.written = &login{u.User.Username(), password}
	}
	return context.WithValue(ctx, loginKey{}, l)
}

// loginFor returns the credentials for a host. Those of the user are never sent
// without encryption.
func loginFor(ctx context.Context, scheme string, h host) (login, bool) {
	l, ok := ctx.Value(loginKey{}).(logins)
	switch {
	case !ok:
		return login{}, false
	case l.written != nil && l.host == h && l.scheme == scheme:
		return *l.written, true
	case scheme != "https":
		return login{}, false
	default:
		return l.keychain.login(h)
	}
}

// limited ends a body that is longer than allowed with an error.
type limited struct {
	io.ReadCloser
	left  int64
	shown string
	limit int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, &LimitError{Address: l.shown, Limit: size(l.limit)}
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, &LimitError{Address: l.shown, Limit: size(l.limit)}
	}
	return n, err
}

// size writes a number of bytes for people.
func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
