package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// faultRates are the shares of the requests that go wrong, in thousandths.
type faultRates struct {
	overload, internal, unavailable int
	// refused requests never reach the API server, cut ones are carried out and
	// their answers lost, truncated ones lose the end of their answers.
	refused, cut, truncated int
	// watches ends every watch after up to this time; 0 leaves them alone.
	watches time.Duration
}

// faultyProxy stands between a client and the API server of a plane and makes
// seeded faults.
type faultyProxy struct {
	rates   faultRates
	forward *httputil.ReverseProxy

	mu     sync.Mutex
	random *rand.Rand
	// counts of what was done, by kind of fault.
	counts map[string]int
	// outage begins at this request; over is closed at its end.
	outageAt, requests int
	outage             func(over chan<- struct{})
	over               chan struct{}
}

// newFaultyProxy starts a proxy before the plane of a kubeconfig, and makes the
// file point at it; the kubeconfig of the plane itself is returned.
func newFaultyProxy(t *testing.T, kubeconfig string, seed uint64, rates faultRates) (p *faultyProxy, direct string) {
	t.Helper()
	original, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	direct = t.TempDir() + "/kubeconfig"
	if err := os.WriteFile(direct, original, 0o600); err != nil {
		t.Fatal(err)
	}
	access, err := clientcmd.BuildConfigFromFlags("", direct)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(access)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(access.Host)
	if err != nil {
		t.Fatal(err)
	}
	p = &faultyProxy{rates: rates, random: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewUnstartedServer(p)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})

	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = server.URL
		cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p, direct
}

// pick chooses the fault of one request.
func (p *faultyProxy) pick(watch bool) (fault string, watchFor time.Duration, over <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if p.outage != nil && p.requests == p.outageAt {
		p.over = make(chan struct{})
		p.outage(p.over)
	}
	if p.over != nil {
		select {
		case <-p.over:
		default:
			p.counts["outage"]++
			return "outage", 0, p.over
		}
	}
	if watch && p.rates.watches > 0 {
		watchFor = time.Duration(p.random.Int64N(int64(p.rates.watches)))
		p.counts["watch"]++
	}
	n := p.random.IntN(1000)
	for _, f := range []struct {
		name string
		rate int
	}{
		{"overload", p.rates.overload}, {"internal", p.rates.internal}, {"unavailable", p.rates.unavailable},
		{"refused", p.rates.refused}, {"cut", p.rates.cut}, {"truncated", p.rates.truncated},
	} {
		if n -= f.rate; n < 0 {
			p.counts[f.name]++
			return f.name, watchFor, nil
		}
	}
	return "", watchFor, nil
}

// ServeHTTP implements http.Handler.
func (p *faultyProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watch := r.URL.Query().Get("watch") == "true"
	fault, watchFor, over := p.pick(watch)
	switch fault {
	case "outage":
		select {
		case <-over:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case "overload":
		w.Header().Set("Retry-After", "1")
		answer(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests")
		return
	case "internal":
		answer(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "etcdserver: leader changed")
		return
	case "unavailable":
		answer(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "apiserver is shutting down")
		return
	case "refused":
		panic(http.ErrAbortHandler)
	case "cut":
		p.forward.ServeHTTP(lost{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case "truncated":
		p.forward.ServeHTTP(&truncated{ResponseWriter: w, left: 100}, r)
		panic(http.ErrAbortHandler)
	}
	if watchFor > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), watchFor)
		defer cancel()
		r = r.WithContext(ctx)
	}
	p.forward.ServeHTTP(w, r)
}

func answer(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: reason, Message: message, Code: int32(code), //nolint:gosec // a status code
	})
}

// lost takes an answer that nobody gets.
type lost struct{ header http.Header }

func (l lost) Header() http.Header       { return l.header }
func (lost) Write(b []byte) (int, error) { return len(b), nil }
func (lost) WriteHeader(int)             {}

// truncated passes the beginning of an answer on.
type truncated struct {
	http.ResponseWriter
	left int
}

func (t *truncated) Write(b []byte) (int, error) {
	if n := min(len(b), t.left); n > 0 {
		t.left -= n
		if _, err := t.ResponseWriter.Write(b[:n]); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
