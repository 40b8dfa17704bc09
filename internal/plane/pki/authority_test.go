package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/plane/pki"
)

func newAuthority(t *testing.T) *pki.Authority {
	t.Helper()
	a, err := pki.NewAuthority("test", time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parse(t *testing.T, p pki.Pair) *x509.Certificate {
	t.Helper()
	if _, err := tls.X509KeyPair(p.Certificate, p.Key); err != nil {
		t.Fatalf("certificate and key do not belong together: %v", err)
	}
	block, _ := pem.Decode(p.Certificate)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func roots(t *testing.T, a *pki.Authority) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(a.Bundle()) {
		t.Fatal("the bundle holds no certificate")
	}
	return pool
}

func TestIssue(t *testing.T) {
	a := newAuthority(t)
	cases := map[string]struct {
		request pki.Request
		usage   x509.ExtKeyUsage
		other   x509.ExtKeyUsage
	}{
		"server by name":    {pki.Request{CommonName: "s", Names: []string{"localhost"}}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		"server by address": {pki.Request{CommonName: "s", Addresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		"client":            {pki.Request{CommonName: "admin", Organizations: []string{"system:masters"}}, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pair, err := a.Issue(tc.request)
			if err != nil {
				t.Fatal(err)
			}
			c := parse(t, pair)
			if diff := cmp.Diff(tc.request.Organizations, c.Subject.Organization); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if c.Subject.CommonName != tc.request.CommonName {
				t.Errorf("name %q, want %q", c.Subject.CommonName, tc.request.CommonName)
			}
			if _, err := c.Verify(x509.VerifyOptions{Roots: roots(t, a), KeyUsages: []x509.ExtKeyUsage{tc.usage}}); err != nil {
				t.Errorf("not valid for its own use: %v", err)
			}
			if _, err := c.Verify(x509.VerifyOptions{Roots: roots(t, a), KeyUsages: []x509.ExtKeyUsage{tc.other}}); err == nil {
				t.Error("valid for the other use too")
			}
			if _, err := c.Verify(x509.VerifyOptions{Roots: roots(t, newAuthority(t)), KeyUsages: []x509.ExtKeyUsage{tc.usage}}); err == nil {
				t.Error("another authority's bundle verifies it")
			}
		})
	}
}

func TestSerialsDiffer(t *testing.T) {
	a := newAuthority(t)
	seen := map[string]bool{}
	for range 32 {
		pair, err := a.Issue(pki.Request{CommonName: "x"})
		if err != nil {
			t.Fatal(err)
		}
		serial := parse(t, pair).SerialNumber
		if serial.Sign() <= 0 || seen[serial.String()] {
			t.Fatalf("serial %s is not positive or not new", serial)
		}
		seen[serial.String()] = true
	}
}

func TestServerConfigAnswersEveryName(t *testing.T) {
	a := newAuthority(t)
	pool := roots(t, a)
	var wg sync.WaitGroup
	for _, name := range []string{"webhook.cert-manager.svc", "kyverno-svc.kyverno.svc", "webhook.cert-manager.svc"} {
		wg.Go(func() {
			client, server := net.Pipe()
			go func() {
				s := tls.Server(server, a.ServerConfig())
				_ = s.Handshake()
				_ = s.Close()
			}()
			c := tls.Client(client, &tls.Config{RootCAs: pool, ServerName: name})
			if err := c.Handshake(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			_ = client.Close()
		})
	}
	wg.Wait()
}

func TestServerConfigNeedsAName(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	done := make(chan error, 1)
	go func() { done <- tls.Server(server, newAuthority(t).ServerConfig()).Handshake() }()
	go func() { _ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() }() //nolint:gosec // the refusal is what is tested
	if err := <-done; err == nil {
		t.Error("a client that names no server got a certificate")
	}
}
