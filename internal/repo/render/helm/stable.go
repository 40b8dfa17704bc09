package helm

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// stable answers the functions that Helm answers from chance or the clock. The
// same chart, release and order of calls give the same answers.
type stable struct {
	seed  [32]byte
	calls uint64
}

func newStable(parts ...string) *stable {
	return &stable{seed: sha256.Sum256([]byte(strings.Join(parts, "\x00")))}
}

// epoch is the moment at which every template is rendered.
var epoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// stream returns n bytes, others for every call.
func (s *stable) stream(n int) []byte {
	s.calls++
	out := make([]byte, 0, n+sha256.Size)
	for block := uint64(0); len(out) < n; block++ {
		in := binary.BigEndian.AppendUint64(s.seed[:len(s.seed):len(s.seed)], s.calls)
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(in, block))
		out = append(out, sum[:]...)
	}
	return out[:n]
}

func (s *stable) text(alphabet string) func(n int) (string, error) {
	return func(n int) (string, error) {
		out := s.stream(n)
		for i := range out {
			out[i] = alphabet[int(out[i])%len(alphabet)]
		}
		return string(out), nil
	}
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func printable() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}

func (s *stable) functions() template.FuncMap {
	generic := sprig.GenericFuncMap()
	inZone, _ := generic["dateInZone"].(func(string, any, string) string)
	utc := func(format string, date any) string {
		switch date.(type) {
		case time.Time, *time.Time, int64, int, int32:
			return inZone(format, date, "UTC")
		}
		return inZone(format, epoch, "UTC")
	}
	return template.FuncMap{
		"randAlphaNum": s.text(letters + digits),
		"randAlpha":    s.text(letters),
		"randNumeric":  s.text(digits),
		"randAscii":    s.text(printable()),
		"randBytes": func(n int) (string, error) {
			return base64.StdEncoding.EncodeToString(s.stream(n)), nil
		},
		"randInt": func(low, high int) (int, error) {
			if high <= low {
				return 0, errors.New("randInt wants a greater second number")
			}
			return low + int(binary.BigEndian.Uint64(s.stream(8))>>1%uint64(high-low)), nil
		},
		"shuffle": s.shuffle,
		"uuidv4": func() string {
			b := s.stream(16)
			b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
			return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
		},
		"now":      func() time.Time { return epoch },
		"date":     utc,
		"htmlDate": func(date any) string { return utc("2006-01-02", date) },
		"ago": func(date any) string {
			if at, ok := date.(time.Time); ok {
				return epoch.Sub(at).Round(time.Second).String()
			}
			return "0s"
		},
		"bcrypt":            s.bcrypt,
		"htpasswd":          func(user, password string) string { return user + ":" + s.bcrypt(password) },
		"encryptAES":        s.encryptAES,
		"genPrivateKey":     func(string) (string, error) { return keyText(s.key()) },
		"genCA":             s.authority,
		"genCAWithKey":      func(name string, days int, _ string) (certificate, error) { return s.authority(name, days) },
		"genSelfSignedCert": s.selfSigned,
		"genSelfSignedCertWithKey": func(name string, ips, dns []any, days int, _ string) (certificate, error) {
			return s.selfSigned(name, ips, dns, days)
		},
		"genSignedCert": s.signed,
		"genSignedCertWithKey": func(name string, ips, dns []any, days int, ca certificate, _ string) (certificate, error) {
			return s.signed(name, ips, dns, days, ca)
		},
		"buildCustomCert": buildCertificate,
	}
}

func (s *stable) shuffle(text string) string {
	runes := []rune(text)
	for i := len(runes) - 1; i > 0; i-- {
		j := int(binary.BigEndian.Uint32(s.stream(4))) % (i + 1)
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

// bcrypt returns a text of the form of a bcrypt hash. It fits no password.
func (s *stable) bcrypt(password string) string {
	sum := sha256.Sum256(append(s.stream(16), password...))
	text := base64.RawURLEncoding.EncodeToString(append(sum[:], sum[:]...))
	return "$2a$10$" + strings.NewReplacer("-", ".", "_", "/").Replace(text[:53])
}

func (s *stable) encryptAES(password, plain string) (string, error) {
	if plain == "" {
		return "", nil
	}
	key := make([]byte, 32)
	copy(key, password)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	pad := block.BlockSize() - len(plain)%block.BlockSize()
	data := append([]byte(plain), strings.Repeat(string(rune(pad)), pad)...)
	iv := s.stream(block.BlockSize())
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(data, data)
	return base64.StdEncoding.EncodeToString(append(iv, data...)), nil
}

// certificate is what templates get from the functions that make certificates.
type certificate struct{ Cert, Key string }

func (s *stable) key() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(s.stream(ed25519.SeedSize))
}

func keyText(key ed25519.PrivateKey) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("encode key: %w", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

func (s *stable) authority(name string, _ int) (certificate, error) {
	key := s.key()
	t := s.certificateFor(name)
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign
	return encode(t, t, key, key)
}

func (s *stable) selfSigned(name string, ips, dns []any, _ int) (certificate, error) {
	key := s.key()
	t := s.certificateFor(name)
	if err := addNames(t, ips, dns); err != nil {
		return certificate{}, err
	}
	return encode(t, t, key, key)
}

func (s *stable) signed(name string, ips, dns []any, days int, ca certificate) (certificate, error) {
	parent, signer, err := decode(ca)
	if err != nil {
		return certificate{}, err
	}
	if signer == nil { // a key of another kind: what it signs cannot be stable
		return s.selfSigned(name, ips, dns, days)
	}
	t := s.certificateFor(name)
	if err := addNames(t, ips, dns); err != nil {
		return certificate{}, err
	}
	return encode(t, parent, s.key(), signer)
}

// certificateFor is valid for a hundred years from epoch: a stand-in must not
// run out.
func (s *stable) certificateFor(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(s.stream(15)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    epoch,
		NotAfter:     epoch.AddDate(100, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func addNames(t *x509.Certificate, ips, dns []any) error {
	for _, v := range ips {
		text, ok := v.(string)
		ip := net.ParseIP(text)
		if !ok || ip == nil {
			return fmt.Errorf("%v is not an IP address", v)
		}
		t.IPAddresses = append(t.IPAddresses, ip)
	}
	for _, v := range dns {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not a DNS name", v)
		}
		t.DNSNames = append(t.DNSNames, text)
	}
	return nil
}

func encode(t, parent *x509.Certificate, key, signer ed25519.PrivateKey) (certificate, error) {
	der, err := x509.CreateCertificate(nil, t, parent, key.Public(), signer)
	if err != nil {
		return certificate{}, fmt.Errorf("make certificate: %w", err)
	}
	text, err := keyText(key)
	if err != nil {
		return certificate{}, err
	}
	return certificate{Cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), Key: text}, nil
}

// decode reads a certificate and its key; signer is nil for a key that is not
// one of ours.
func decode(c certificate) (*x509.Certificate, ed25519.PrivateKey, error) {
	block, _ := pem.Decode([]byte(c.Cert))
	if block == nil {
		return nil, nil, errors.New("the certificate of the CA is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read the certificate of the CA: %w", err)
	}
	keyBlock, _ := pem.Decode([]byte(c.Key))
	if keyBlock == nil {
		return nil, nil, errors.New("the key of the CA is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return cert, nil, nil //nolint:nilerr // a key of another kind is a CA all the same
	}
	signer, _ := key.(ed25519.PrivateKey)
	return cert, signer, nil
}

// buildCertificate takes a certificate and key in base64, as values files hold
// them.
func buildCertificate(cert, key string) (certificate, error) {
	certText, err := base64.StdEncoding.DecodeString(cert)
	if err != nil {
		return certificate{}, errors.New("the certificate is not base64")
	}
	keyText, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return certificate{}, errors.New("the key is not base64")
	}
	return certificate{Cert: string(certText), Key: string(keyText)}, nil
}
