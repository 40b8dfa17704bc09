package cluster

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestFrozen stops a run in the middle of a component, lets another one take over and
// finish, and wakes the first one up while it cannot ask for its lease: it writes
// nothing any more, but the one request that it may have been sending.
func TestFrozen(t *testing.T) {
	s := newSite(t, 3)
	var objects strings.Builder
	for i := range 20 {
		fmt.Fprintf(&objects, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m%02d}\n", i)
	}
	s.write("sources/"+name(2)+"/more.yaml", objects.String())
	direct := s.access
	g := s.guard()

	// The API server is slow with what the second component writes.
	slow := "/namespaces/ns-" + name(2) + "/configmaps/"
	g.stop(slow)
	first := s.start(s.rollout()...)
	eventually(t, func() error { return g.held(1) })
	g.stop(slow, "/leases/") // a renewal that is under way would show the other run that this one lives
	must(t, first.cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, g.idle)
	s.access = direct
	if r := s.ladder(s.rollout()...); r.code != 0 || s.report(r).Result != "succeeded" {
		t.Fatalf("the second run, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	list, err := s.core.ConfigMaps("ns-"+name(2)).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(list.Items) < 20 {
		t.Errorf("the second run has made %d objects", len(list.Items))
	}

	g.stop("/leases/")
	g.shed() // what it has asked before is answered with a failure, which it repeats
	written, asked := g.counted()
	must(t, first.cmd.Process.Signal(syscall.SIGCONT))
	eventually(t, func() error {
		w, n := g.counted()
		if len(w) > len(written)+1 || n >= asked+8 {
			return nil
		}
		return fmt.Errorf("it has asked %d times since, and written %v", n-asked, w[len(written):])
	})
	g.stop() // now it may see that the lease is another's
	g.shed()
	r := s.wait(first)
	if r.code == 0 || !strings.Contains(r.stderr, "starts nothing more") {
		t.Errorf("the first run, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	all, _ := g.counted()
	if late := all[len(written):]; len(late) > 1 {
		t.Errorf("the first run has written after another had taken over: %v", late)
	}
}

// guard is a proxy before the API server that counts what is asked, and holds up what
// it is told to.
type guard struct {
	forward *httputil.ReverseProxy

	mu      sync.Mutex
	holds   []string // parts of the paths of writes
	release chan struct{}
	waiting int
	passing int      // writes that are on their way to the API server
	writes  []string // those that are no leases
	asked   int
}

// guard puts one between the commands of the site and its cluster.
func (s *site) guard() *guard {
	s.t.Helper()
	access, err := s.plane.RESTConfig()
	must(s.t, err)
	transport, err := rest.TransportFor(access)
	must(s.t, err)
	target, err := url.Parse(access.Host)
	must(s.t, err)
	g := &guard{release: make(chan struct{}), forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport,
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}}
	server := httptest.NewUnstartedServer(g)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	s.t.Cleanup(func() {
		g.stop()
		g.shed()
		server.CloseClientConnections()
		server.Close()
	})
	config, err := clientcmd.LoadFromFile(s.access)
	must(s.t, err)
	for _, c := range config.Clusters {
		c.Server = server.URL
		c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
	s.access = filepath.Join(s.t.TempDir(), "kubeconfig")
	must(s.t, clientcmd.WriteToFile(*config, s.access))
	return g
}

// stop holds writes up whose paths have one of the parts, and lets what comes from now
// on pass otherwise.
func (g *guard) stop(parts ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds = parts
}

// shed answers what is held up with a failure.
func (g *guard) shed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.release)
	g.release = make(chan struct{})
}

// held fails unless so many writes are held up.
func (g *guard) held(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting < n {
		return fmt.Errorf("%d writes are held up", g.waiting)
	}
	return nil
}

// idle fails unless no write is on its way to the API server.
func (g *guard) idle() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passing > 0 {
		return fmt.Errorf("%d writes are on their way", g.passing)
	}
	return nil
}

// counted lists the writes so far, and tells how many requests there were.
func (g *guard) counted() (writes []string, asked int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.writes...), g.asked
}

// ServeHTTP implements http.Handler. What has not come as a whole is no request yet: a
// process can be stopped in the middle of sending one.
func (g *guard) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.mu.Lock()
	g.asked++
	lease, held := strings.Contains(r.URL.Path, "/leases"), false
	if r.Method != http.MethodGet {
		if !lease {
			g.writes = append(g.writes, r.Method+" "+r.URL.Path)
		}
		for _, part := range g.holds {
			held = held || strings.Contains(r.URL.Path, part)
		}
	}
	passing := !held && r.Method != http.MethodGet
	if held {
		g.waiting++
	}
	if passing {
		g.passing++
	}
	release := g.release
	g.mu.Unlock()
	if !held {
		if passing {
			defer func() { // also where the client has gone, which the proxy tells by a panic
				g.mu.Lock()
				g.passing--
				g.mu.Unlock()
			}()
		}
		g.forward.ServeHTTP(out, r)
		return
	}
	select {
	case <-release:
		out.WriteHeader(http.StatusServiceUnavailable)
	case <-r.Context().Done():
	}
}
