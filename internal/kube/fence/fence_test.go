package fence

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// server answers every request with an empty ConfigMap and remembers it.
type server struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	// work, if set, is what a write takes.
	work func(*http.Request)
}

func newServer(t *testing.T, http2 bool) *server {
	s := &server{}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, r.Method)
	s.mu.Unlock()
	if s.work != nil {
		s.work(r)
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(out, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
}

func (s *server) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// behind returns a configuration behind a fence, and the fence, which is open.
func (s *server) behind(t *testing.T, clock Clock) (*Fence, *rest.Config) {
	t.Helper()
	f := New(clock)
	f.Extend(time.Hour)
	config, err := f.Access(&rest.Config{
		Host: s.URL, BearerToken: "token",
		TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return f, config
}

func standing() time.Duration { return 0 }

// every makes every kind of write that there is, by the clients that are used, and
// returns their errors.
func every(t *testing.T, ctx context.Context, config *rest.Config) []error {
	t.Helper()
	typed, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps, anything := typed.ConfigMaps("n"), plain.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("n")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	loose := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}}
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	_, err = maps.Create(ctx, object, metav1.CreateOptions{})
	add(err)
	_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
	add(err)
	_, err = maps.Patch(ctx, "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	add(err)
	add(maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	add(maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	_, err = anything.Apply(ctx, "a", loose, metav1.ApplyOptions{FieldManager: "m"})
	add(err)
	_, err = anything.UpdateStatus(ctx, loose, metav1.UpdateOptions{})
	add(err)
	add(anything.Delete(ctx, "a", metav1.DeleteOptions{}))
	return errs
}

// Whatever client is made of the configuration, what it writes goes through while the
// lease lasts and does not afterwards; reads always do.
func TestNothingWritesAround(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, http2)
			f, config := s.behind(t, standing)
			s.work = func(r *http.Request) {
				if r.Method != http.MethodGet && r.URL.Query().Get("timeout") != RequestTimeout.String() {
					t.Errorf("a write without its bound: %s", r.URL)
				}
				if r.Header.Get("Authorization") != "Bearer token" {
					t.Errorf("authorization %q", r.Header.Get("Authorization"))
				}
				if http2 != (r.ProtoMajor == 2) {
					t.Errorf("it is %s", r.Proto)
				}
			}
			if err := errors.Join(every(t, t.Context(), config)...); err != nil {
				t.Fatal(err)
			}
			before := len(s.seen())
			if before != 8 {
				t.Errorf("%d writes have arrived", before)
			}
			lost := errors.New("somebody else has it")
			if !f.End(lost) {
				t.Error("something is under way")
			}
			f.Extend(2 * time.Hour) // too late
			for i, err := range every(t, t.Context(), config) {
				if !errors.Is(err, lost) {
					t.Errorf("write %d: %v", i, err)
				}
			}
			client, err := corev1client.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.ConfigMaps("n").Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
			if after := s.seen()[before:]; !slices.Equal(after, []string{"GET"}) {
				t.Errorf("arrived: %v", after)
			}
		})
	}
}

// A write waits for a lease that has ended to be renewed.
func TestWritesWaitForTheRenewal(t *testing.T) {
	s := newServer(t, true)
	var now atomic.Int64
	f, config := s.behind(t, func() time.Duration { return time.Duration(now.Load()) })
	now.Store(int64(2 * time.Hour))
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	for _, err := range every(t, gone, config) {
		if err == nil {
			t.Error("it has not waited")
		}
	}
	if len(s.seen()) > 0 {
		t.Errorf("arrived: %v", s.seen())
	}
	done := make(chan []error)
	go func() { done <- every(t, t.Context(), config) }()
	f.Extend(3 * time.Hour)
	if err := errors.Join(<-done...); err != nil {
		t.Error(err)
	}
}

// A process that is stopped after the first look sends nothing when it wakes up late.
func TestTheSecondLook(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		for _, connected := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := newServer(t, http2)
				var looks, early atomic.Int64
				early.Store(1 << 30)
				_, config := s.behind(t, func() time.Duration {
					if looks.Add(1) > early.Load() {
						return 2 * time.Hour
					}
					return 0
				})
				if connected {
					if err := errors.Join(every(t, t.Context(), config)...); err != nil {
						t.Fatal(err)
					}
				}
				before := len(s.seen())
				client, err := corev1client.NewForConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				early.Store(looks.Load() + 1)
				_, err = client.ConfigMaps("n").Patch(t.Context(), "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
				if !errors.Is(err, errTooLate) {
					t.Errorf("error = %v", err)
				}
				if after := s.seen()[before:]; len(after) > 0 {
					t.Errorf("arrived: %v", after)
				}
			})
		}
	}
}

// One caller at a time is past the second look.
func TestOneHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := New(standing)
		f.Extend(time.Hour)
		var inside atomic.Int64
		next := make(chan struct{})
		for range 3 {
			go func() {
				_, _ = f.send(func(time.Duration) (int, error) {
					inside.Add(1)
					<-next
					inside.Add(-1)
					return 0, nil
				})
			}()
		}
		for range 3 {
			synctest.Wait()
			if n := inside.Load(); n != 1 {
				t.Errorf("%d at once", n)
			}
			next <- struct{}{}
		}
	})
}

// What is under way is given up with the lease, and is known to have been.
func TestUnderWay(t *testing.T) {
	s := newServer(t, true)
	f, config := s.behind(t, standing)
	begun := make(chan struct{})
	s.work = func(r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		ended <- client.ConfigMaps("n").Delete(t.Context(), "a", metav1.DeleteOptions{})
	}()
	<-begun
	lost := errors.New("somebody else has it")
	if f.End(lost) {
		t.Error("nothing is under way")
	}
	if err := <-ended; !errors.Is(err, lost) {
		t.Errorf("error = %v", err)
	}
	if !f.End(lost) {
		t.Error("it is still under way")
	}
}

// A stream to a pod is made by its own transport, which lasts.
func TestStreams(t *testing.T) {
	f := New(standing)
	f.Extend(time.Hour)
	var taken string
	config, err := f.Access(&rest.Config{Host: "https://nowhere.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := rest.HTTPWrappersForConfig(config, transport(func(r *http.Request) (*http.Response, error) {
		taken = r.Method + " " + r.URL.Path
		return &http.Response{Body: http.NoBody}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://nowhere.invalid/api/v1/namespaces/n/pods/p/portforward", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	response, err := rt.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if taken != "POST /api/v1/namespaces/n/pods/p/portforward" {
		t.Errorf("taken: %q", taken)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// The clock goes on, and is not that of Go.
func TestSinceBoot(t *testing.T) {
	a := SinceBoot()
	b := SinceBoot()
	if a <= 0 || b < a || time.Now().Add(-a).Before(time.Unix(0, 0)) {
		t.Errorf("%s, then %s", a, b)
	}
}
