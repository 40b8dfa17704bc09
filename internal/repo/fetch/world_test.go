package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/rollout-ladder/ladder/internal/repo/fetch"
)

// TestMain keeps the credentials and proxies of whoever runs the tests out.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "fetch-test-")
	if err != nil {
		panic(err)
	}
	for _, name := range os.Environ() {
		name, _, _ = strings.Cut(name, "=")
		switch upper := strings.ToUpper(name); {
		case strings.HasSuffix(upper, "_PROXY"), strings.HasPrefix(upper, "HELM_"), strings.HasPrefix(upper, "XDG_"), strings.HasPrefix(upper, "GIT_"),
			upper == "NETRC", upper == "DOCKER_CONFIG", upper == "SSH_AUTH_SOCK":
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("HOME", home)
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// recorder notes the requests that reach a server.
type recorder struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (r *recorder) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, request.Clone(context.Background()))
		r.mu.Unlock()
		h.ServeHTTP(w, request)
	})
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests)
}

func (r *recorder) last() *http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[len(r.requests)-1]
}

// server is one that speaks HTTPS, or HTTP.
type server struct {
	*httptest.Server
	recorder
	host string // 127.0.0.1:PORT
	port string
}

func serve(t *testing.T, h http.Handler) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(s.wrap(h))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	s.done(t)
	return s
}

func servePlain(t *testing.T, h http.Handler) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(s.wrap(h))
	s.done(t)
	return s
}

func (s *server) done(t *testing.T) {
	t.Helper()
	t.Cleanup(s.Close)
	s.host = strings.TrimPrefix(strings.TrimPrefix(s.URL, "https://"), "http://")
	_, s.port, _ = net.SplitHostPort(s.host)
}

func text(content string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(content)) })
}

// packed is what an archive of a text is.
func packed(content string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(content))
	_ = w.Close()
	return out.String()
}

// trust returns options that trust the certificates of servers, and no host.
func trust(servers ...*server) fetch.Options {
	pool := x509.NewCertPool()
	for _, s := range servers {
		if s.Certificate() != nil {
			pool.AddCert(s.Certificate())
		}
	}
	return fetch.Options{Roots: pool}
}

// allow is trust, with the hosts allowed on the command line.
func allow(servers ...*server) fetch.Options {
	o := trust(servers...)
	for _, s := range servers {
		o.AllowHosts = append(o.AllowHosts, s.host)
	}
	return o
}

func open(t *testing.T, o fetch.Options) *fetch.Fetcher {
	t.Helper()
	f := fetch.New(o)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func refused(t *testing.T, err error, reason string) *fetch.RefusedError {
	t.Helper()
	var r *fetch.RefusedError
	if !errors.As(err, &r) {
		t.Fatalf("not refused: %v", err)
	}
	if !strings.Contains(r.Error(), reason) {
		t.Fatalf("refused with %q, want %q in it", r, reason)
	}
	return r
}

// names returns a resolver of a real DNS server that knows some names.
func names(t *testing.T, known map[string]string) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(buffer[:n]) != nil || len(message.Questions) != 1 {
				continue
			}
			question := message.Questions[0]
			message.Response, message.RCode, message.Additionals = true, dnsmessage.RCodeSuccess, nil
			ip := net.ParseIP(known[strings.TrimSuffix(question.Name.String(), ".")])
			header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class, TTL: 1}
			switch four := ip.To4(); {
			case ip == nil:
				message.RCode = dnsmessage.RCodeNameError
			case four != nil && question.Type == dnsmessage.TypeA:
				message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte(four)}}}
			case four == nil && question.Type == dnsmessage.TypeAAAA:
				message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip.To16())}}}
			}
			if answer, err := message.Pack(); err == nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

// clock is a fixed time.
func clock() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) }
