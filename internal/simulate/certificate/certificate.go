package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"time"
)

// defaultLife is that of a Certificate that asks for none. Source:
// cert-manager's DefaultCertificateDuration.
const defaultLife = 90 * 24 * time.Hour

// Request is what a certificate is for.
type Request struct {
	CommonName     string
	Organizations  []string
	DNSNames       []string
	Addresses      []net.IP
	URIs           []*url.URL
	EmailAddresses []string
	IsCA           bool
	ClientAuth     bool
	// Algorithm of the key: RSA, ECDSA or Ed25519. Empty is ECDSA, which is
	// quick to make, where cert-manager would take RSA.
	Algorithm string
	// Size of the key in bits; 0 for the usual one.
	Size int
	// Life of the certificate; 0 for 90 days.
	Life time.Duration
}

// Issued is a certificate with its key, PEM.
type Issued struct {
	// Certificate is followed by its intermediate authorities; a root is not
	// part of it.
	Certificate []byte
	Key         []byte
	// CA is the last authority that is known of the chain.
	CA []byte
}

// Authority signs certificates.
type Authority struct {
	chain []*x509.Certificate // from the authority itself to its root
	key   crypto.Signer
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string, now time.Time) (*Authority, error) {
	issued, err := Issue(Request{CommonName: name, IsCA: true, Life: 10 * 365 * 24 * time.Hour}, nil, now)
	if err != nil {
		return nil, err
	}
	return ParseAuthority(issued.Certificate, issued.Key)
}

// ParseAuthority reads an authority from the tls.crt and tls.key of its Secret.
func ParseAuthority(certificate, key []byte) (*Authority, error) {
	chain, err := Parse(certificate)
	if err != nil {
		return nil, err
	}
	if !chain[0].IsCA {
		return nil, errors.New("the certificate is not a CA")
	}
	signer, err := parseKey(key)
	if err != nil {
		return nil, err
	}
	return &Authority{chain: chain, key: signer}, nil
}

// Parse reads the certificates of a PEM text; there is at least one.
func Parse(text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a certificate: %w", err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no certificate")
	}
	return list, nil
}

func parseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("there is no private key")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, errors.New("the private key cannot be read") // the cause may hold parts of it
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the private key cannot sign")
	}
	return signer, nil
}

// Issue makes a key and a certificate for it; without an authority it is
// self-signed.
func Issue(r Request, by *Authority, now time.Time) (Issued, error) {
	key, err := newKey(r)
	if err != nil {
		return Issued{}, err
	}
	template, err := newTemplate(r, now)
	if err != nil {
		return Issued{}, err
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.chain[0], by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Issued{}, fmt.Errorf("sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return Issued{}, fmt.Errorf("read back a certificate: %w", err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Issued{}, fmt.Errorf("encode a key: %w", err)
	}
	chain := []*x509.Certificate{certificate}
	if by != nil {
		chain = append(chain, by.chain...)
	}
	text, ca := bundle(chain)
	return Issued{Certificate: text, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), CA: ca}, nil
}

// bundle writes a chain as cert-manager does: the certificate and its
// authorities without the root, and apart from them the last one known.
// Source: cert-manager pkg/util/pki, ParseSingleCertificateChain.
func bundle(chain []*x509.Certificate) (text, ca []byte) {
	last := chain[len(chain)-1]
	for i, c := range chain {
		if i > 0 && bytes.Equal(c.RawIssuer, c.RawSubject) {
			break // a root
		}
		text = append(text, encode(c)...)
	}
	return text, encode(last)
}

func encode(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func newKey(r Request) (crypto.Signer, error) {
	var key crypto.Signer
	var err error
	switch r.Algorithm {
	case "RSA":
		size := r.Size
		if size == 0 {
			size = 2048
		}
		key, err = rsa.GenerateKey(rand.Reader, size)
	case "Ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "", "ECDSA":
		key, err = ecdsa.GenerateKey(curve(r.Size), rand.Reader)
	default:
		err = fmt.Errorf("unknown algorithm %q", r.Algorithm)
	}
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func curve(size int) elliptic.Curve {
	switch size {
	case 384:
		return elliptic.P384()
	case 521:
		return elliptic.P521()
	default:
		return elliptic.P256()
	}
}

func newTemplate(r Request, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	life := r.Life
	if life <= 0 {
		life = defaultLife
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.CommonName, Organization: r.Organizations},
		NotBefore:    now.Add(-time.Minute), NotAfter: now.Add(life),
		DNSNames: r.DNSNames, IPAddresses: r.Addresses, URIs: r.URIs, EmailAddresses: r.EmailAddresses,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if r.ClientAuth {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	}
	if r.IsCA {
		t.IsCA, t.ExtKeyUsage = true, nil
		t.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	return t, nil
}

// Fits reports whether a certificate is what was requested and is still valid,
// so that it need not be issued again.
func (r Request) Fits(text []byte, now time.Time) bool {
	chain, err := Parse(text)
	if err != nil {
		return false
	}
	c := chain[0]
	return c.Subject.CommonName == r.CommonName && c.IsCA == r.IsCA && now.Before(c.NotAfter) && sameSet(c.DNSNames, r.DNSNames)
}

func sameSet(a, b []string) bool {
	seen := map[string]bool{}
	for _, s := range a {
		seen[s] = true
	}
	for _, s := range b {
		if !seen[s] {
			return false
		}
	}
	return len(a) == len(b)
}
