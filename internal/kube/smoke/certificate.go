package smoke

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// The keys of a TLS Secret. Source: Kubernetes, "TLS Secrets"; ca.crt is
// cert-manager's.
const (
	certKey = "tls.crt"
	keyKey  = "tls.key"
	caKey   = "ca.crt"
)

// checkCertificate verifies the chain of a TLS Secret: its certificate is valid
// now, belongs to its key, has the wanted subject, and is signed by the
// certificate of the first issuer's Secret, which is signed by the next one's,
// up to the last, which must be a root. Without issuers the chain inside the
// Secret itself (tls.crt, ca.crt) is verified.
func checkCertificate(ctx context.Context, client Client, check model.Check, now time.Time) (string, error) {
	data, err := secretData(ctx, client, check.Namespace, check.Name)
	if err != nil {
		return "", err
	}
	chain, err := parseCertificates(data[certKey])
	if err != nil {
		return "", fmt.Errorf("key %s %w", certKey, err)
	}
	leaf := chain[0]
	if err := keyMatches(data, leaf); err != nil {
		return "", err
	}
	if check.Subject != "" && leaf.Subject.CommonName != check.Subject {
		return "", fmt.Errorf("subject is %q, not %q", leaf.Subject.CommonName, check.Subject)
	}
	if err := validAt(leaf, now); err != nil {
		return "", err
	}
	if len(check.IssuedBy) == 0 {
		return insideChain(data, chain, now)
	}
	names := []string{leaf.Subject.CommonName}
	current := leaf
	for i, ref := range check.IssuedBy {
		issuer, err := issuerCertificate(ctx, client, check.Namespace, ref)
		if err != nil {
			return "", err
		}
		if err := signedBy(current, issuer); err != nil {
			return "", err
		}
		if err := validAt(issuer, now); err != nil {
			return "", err
		}
		if i == len(check.IssuedBy)-1 {
			if err := signedBy(issuer, issuer); err != nil {
				return "", fmt.Errorf("%s is not a root: it is issued by %q", ref, issuer.Issuer.CommonName)
			}
		}
		names = append(names, issuer.Subject.CommonName)
		current = issuer
	}
	return strings.Join(names, " <- "), nil
}

// insideChain verifies a certificate against what its own Secret holds.
func insideChain(data map[string][]byte, chain []*x509.Certificate, now time.Time) (string, error) {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	authority := chain[len(chain)-1:]
	if len(data[caKey]) > 0 {
		var err error
		if authority, err = parseCertificates(data[caKey]); err != nil {
			return "", fmt.Errorf("key %s %w", caKey, err)
		}
	}
	for _, c := range authority {
		roots.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return "", fmt.Errorf("chain does not verify: %w", err)
	}
	return fmt.Sprintf("%s is issued by %s", chain[0].Subject.CommonName, chain[0].Issuer.CommonName), nil
}

// issuerCertificate reads the certificate of an issuer, "name" or
// "namespace/name": a TLS Secret, or one that holds only ca.crt.
func issuerCertificate(ctx context.Context, client Client, namespace, ref string) (*x509.Certificate, error) {
	name := ref
	if ns, n, ok := strings.Cut(ref, "/"); ok {
		namespace, name = ns, n
	}
	data, err := secretData(ctx, client, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("issuer %s: %w", ref, err)
	}
	key := certKey
	if len(data[certKey]) == 0 {
		key = caKey
	}
	chain, err := parseCertificates(data[key])
	if err != nil {
		return nil, fmt.Errorf("issuer %s: key %s %w", ref, key, err)
	}
	return chain[0], nil
}

// signedBy verifies one link of a chain.
func signedBy(child, parent *x509.Certificate) error {
	if !bytes.Equal(child.RawIssuer, parent.RawSubject) {
		return fmt.Errorf("%q is issued by %q, not by %q", child.Subject.CommonName, child.Issuer.CommonName, parent.Subject.CommonName)
	}
	if err := child.CheckSignatureFrom(parent); err != nil {
		return fmt.Errorf("%q is not signed by %q: %w", child.Subject.CommonName, parent.Subject.CommonName, err)
	}
	return nil
}

func validAt(c *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(c.NotBefore):
		return fmt.Errorf("certificate %q is valid only from %s", c.Subject.CommonName, c.NotBefore.UTC().Format(time.RFC3339))
	case now.After(c.NotAfter):
		return fmt.Errorf("certificate %q has expired on %s", c.Subject.CommonName, c.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// keyMatches reports whether the private key belongs to the certificate.
func keyMatches(data map[string][]byte, leaf *x509.Certificate) error {
	if len(data[keyKey]) == 0 {
		return fmt.Errorf("has no key %s", keyKey)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	pair, err := tls.X509KeyPair(block, data[keyKey])
	if err != nil {
		return fmt.Errorf("key %s does not belong to the certificate", keyKey) // the cause could quote it
	}
	if _, ok := pair.PrivateKey.(crypto.Signer); !ok {
		return fmt.Errorf("key %s cannot sign", keyKey)
	}
	return nil
}

// parseCertificates reads a PEM bundle, the first certificate being the one it
// is about.
func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	if len(data) == 0 {
		return nil, errors.New("is missing or empty")
	}
	var chain []*x509.Certificate
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("holds no readable certificate")
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, errors.New("holds no PEM certificate")
	}
	return chain, nil
}
