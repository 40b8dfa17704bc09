package egress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/plane/egress"
	"github.com/rollout-ladder/ladder/internal/plane/pki"
)

func roots(t *testing.T, a *pki.Authority) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.Bundle()) {
		t.Fatal("the bundle holds no certificate")
	}
	return pool
}

// serve runs an HTTPS server behind a Listener and returns a client that dials it.
func serve(t *testing.T, trusted func(*pki.Authority) *tls.Config) *http.Client {
	t.Helper()
	authority, err := pki.NewAuthority("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	listener := egress.NewListener()
	server := &http.Server{
		TLSConfig: authority.ServerConfig(),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "hello from "+r.Host)
		}),
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	transport := &http.Transport{
		TLSClientConfig: trusted(authority),
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return listener.Connect(ctx) },
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func TestListenerServesHTTP(t *testing.T) {
	client := serve(t, func(a *pki.Authority) *tls.Config { return &tls.Config{RootCAs: roots(t, a)} })
	response, err := client.Get("https://hook.default.svc/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "hello from hook.default.svc" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestListenerDoesNotHangOnDistrust(t *testing.T) {
	client := serve(t, func(*pki.Authority) *tls.Config {
		other, err := pki.NewAuthority("other", time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{RootCAs: roots(t, other)}
	})
	response, err := client.Get("https://hook.default.svc/")
	if err == nil {
		_ = response.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("got %v", err)
	}
}

func TestListenerThatNobodyServes(t *testing.T) {
	l := egress.NewListener()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_ = l.Close()
	if err := l.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := l.Connect(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close, Connect: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close, Accept: %v", err)
	}
}
