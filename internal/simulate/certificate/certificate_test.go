package certificate

import (
	"crypto/x509"
	"testing"
	"time"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func issue(t *testing.T, r Request, by *Authority) Issued {
	t.Helper()
	issued, err := Issue(r, by, now)
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

func authority(t *testing.T, i Issued) *Authority {
	t.Helper()
	a, err := ParseAuthority(i.Certificate, i.Key)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestChain(t *testing.T) {
	root := issue(t, Request{CommonName: "root", IsCA: true, Algorithm: "RSA"}, nil)
	middle := issue(t, Request{CommonName: "middle", IsCA: true}, authority(t, root))
	leaf := issue(t, Request{CommonName: "leaf", DNSNames: []string{"web.app.svc"}, Algorithm: "Ed25519"}, authority(t, middle))

	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(root.Certificate)
	chain, err := Parse(leaf.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	if len(chain) != 2 || chain[1].Subject.CommonName != "middle" {
		t.Fatalf("tls.crt holds %d certificates, want the leaf and its intermediate", len(chain))
	}
	between.AddCert(chain[1])
	options := x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "web.app.svc", CurrentTime: now}
	if _, err := chain[0].Verify(options); err != nil {
		t.Errorf("the chain does not hold: %v", err)
	}
	options.CurrentTime = now.Add(91 * 24 * time.Hour)
	if _, err := chain[0].Verify(options); err == nil {
		t.Error("the certificate is valid beyond 90 days")
	}
	// cert-manager keeps the root apart; an authority below it is the last one
	// that the issuer's Secret knows of.
	if string(middle.CA) != string(root.Certificate) {
		t.Error("ca.crt of the intermediate is not the root")
	}
	ca, err := Parse(leaf.CA)
	if err != nil || ca[0].Subject.CommonName != "middle" {
		t.Errorf("ca.crt of the leaf is %v, %v", ca, err)
	}
}

func TestOtherRootDoesNotVerify(t *testing.T) {
	root, other := issue(t, Request{CommonName: "root", IsCA: true}, nil), issue(t, Request{CommonName: "root", IsCA: true}, nil)
	leaf := issue(t, Request{CommonName: "leaf"}, authority(t, root))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(other.Certificate)
	chain, _ := Parse(leaf.Certificate)
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now}); err == nil {
		t.Error("a root of the same name verifies the chain of another")
	}
}

func TestParseAuthorityRefuses(t *testing.T) {
	leaf := issue(t, Request{CommonName: "leaf"}, nil)
	ca := issue(t, Request{CommonName: "ca", IsCA: true}, nil)
	for name, test := range map[string]struct{ certificate, key []byte }{
		"no certificate":  {nil, ca.Key},
		"no key":          {ca.Certificate, nil},
		"not a CA":        {leaf.Certificate, leaf.Key},
		"junk":            {[]byte("junk"), []byte("junk")},
		"key swapped for": {ca.Certificate, ca.Certificate},
	} {
		if _, err := ParseAuthority(test.certificate, test.key); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFits(t *testing.T) {
	r := Request{CommonName: "x", DNSNames: []string{"a", "b"}}
	issued := issue(t, r, nil)
	if !r.Fits(issued.Certificate, now) {
		t.Error("what was issued does not fit its request")
	}
	for name, other := range map[string]Request{
		"other name": {CommonName: "y", DNSNames: r.DNSNames}, "more names": {CommonName: "x", DNSNames: []string{"a", "b", "c"}},
		"authority": {CommonName: "x", DNSNames: r.DNSNames, IsCA: true},
	} {
		if other.Fits(issued.Certificate, now) {
			t.Errorf("%s: fits", name)
		}
	}
	if r.Fits(issued.Certificate, now.Add(1000*24*time.Hour)) || r.Fits(nil, now) {
		t.Error("an expired or missing certificate fits")
	}
}
