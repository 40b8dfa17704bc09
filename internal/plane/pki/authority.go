package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// backdate tolerates clients whose clock is a little behind.
const backdate = time.Hour

// Authority is a certificate authority. It is safe for concurrent use.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	bundle      []byte

	mu     sync.Mutex
	served map[string]*tls.Certificate
}

// Pair is a certificate and its private key, both PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Request says what a certificate is for.
type Request struct {
	// CommonName is the user name of a client, or the name of a server.
	CommonName string
	// Organizations are the groups of a client.
	Organizations []string
	// Names and Addresses are what a server is reached by; a request with
	// either is for a server, one without is for a client.
	Names     []string
	Addresses []net.IP
}

// NewAuthority makes a self-signed authority that is valid for life from now.
func NewAuthority(name string, now time.Time, life time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", name, err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(life),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back %s: %w", name, err)
	}
	return &Authority{
		certificate: certificate,
		key:         key,
		bundle:      pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		served:      map[string]*tls.Certificate{},
	}, nil
}

// Bundle is the authority's certificate, PEM.
func (a *Authority) Bundle() []byte { return a.bundle }

// Key is the authority's private key, PEM, for a signer in another component.
func (a *Authority) Key() ([]byte, error) { return encodeKey(a.key) }

// Issue makes a key and a certificate for it, valid as long as the authority.
func (a *Authority) Issue(r Request) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make the key of %s: %w", r.CommonName, err)
	}
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	usage := x509.ExtKeyUsageClientAuth
	if len(r.Names)+len(r.Addresses) > 0 {
		usage = x509.ExtKeyUsageServerAuth
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: r.CommonName, Organization: r.Organizations},
		NotBefore:    a.certificate.NotBefore,
		NotAfter:     a.certificate.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{usage},
		DNSNames:     r.Names,
		IPAddresses:  r.Addresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign %s: %w", r.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:         keyPEM,
	}, nil
}

// ServerConfig answers every server name a client asks for with a certificate
// of its own, made on first use.
func (a *Authority) ServerConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) { return a.serve(h.ServerName) },
	}
}

func (a *Authority) serve(name string) (*tls.Certificate, error) {
	if name == "" {
		return nil, errors.New("the client names no server")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.served[name]; ok {
		return c, nil
	}
	pair, err := a.Issue(Request{CommonName: "webhook", Names: []string{name}})
	if err != nil {
		return nil, err
	}
	c, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return nil, fmt.Errorf("load the certificate of %s: %w", name, err)
	}
	a.served[name] = &c
	return &c, nil
}

// NewKey makes a private key, PEM, for signing service account tokens.
func NewKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a signing key: %w", err)
	}
	return encodeKey(key)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// newSerial makes a serial number of 127 random bits, as RFC 5280 (4.1.2.2)
// wants it positive and at most 20 octets.
func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	return serial, nil
}
