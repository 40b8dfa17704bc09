package quiet

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const long = 5 * time.Second

func TestQueues(t *testing.T) {
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "test"})
	defer queue.ShutDown()
	before := open.Load()
	queue.Add("a")
	queue.Add("a") // it waits already
	if got := open.Load() - before; got != 1 {
		t.Errorf("%d items are open, want 1", got)
	}
	item, _ := queue.Get()
	queue.Add(item) // again, while it is worked on
	queue.Done(item)
	if got := open.Load() - before; got != 1 {
		t.Errorf("%d items are open after the first round, want 1", got)
	}
	item, _ = queue.Get()
	queue.Done(item)
	if got := open.Load() - before; got != 0 {
		t.Errorf("%d items are open at the end", got)
	}
}

func TestRequests(t *testing.T) {
	var during int64
	handler := Requests(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { during = open.Load() }), "/own")
	for path, want := range map[string]int64{
		"/api/v1/pods": 1, "/api/v1/pods?watch=true": 0, "/api/v1/pods?watch=0": 1, "/api/v1/watch/pods": 0, "/readyz": 0, "/livez/etcd": 0, "/own": 0,
		"/ownership": 1,
	} {
		before := open.Load()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		if got := during - before; got != want {
			t.Errorf("%s: %d requests are open, want %d", path, got, want)
		}
		if open.Load() != before {
			t.Errorf("%s: the request has not ended", path)
		}
	}
}

func TestAwait(t *testing.T) {
	if !Await(t.Context(), long, nil) {
		t.Fatal("a process that does nothing is not quiet")
	}
	begin()
	if Await(t.Context(), 20*time.Millisecond, nil) {
		t.Error("a request is under way, and all is quiet")
	}
	end()
	ctx, cancel := context.WithCancel(t.Context())
	begin()
	cancel()
	if Await(ctx, long, nil) {
		t.Error("the context ended, and all is quiet")
	}
	// What never ends is not waited for forever.
	if !Await(t.Context(), long, nil) {
		t.Error("what is given up is waited for")
	}
	if !Await(t.Context(), 20*time.Millisecond, nil) {
		t.Error("what is given up is waited for again")
	}
	// Once it ends after all, nothing else may hide behind it.
	end()
	begin()
	defer end()
	if Await(t.Context(), 20*time.Millisecond, nil) {
		t.Error("another request is taken for the one that was given up")
	}
}

func TestAwaitOthers(t *testing.T) {
	busy := true
	if Await(t.Context(), 400*time.Millisecond, func() bool { return busy }) {
		t.Error("another process works for this one, and all is quiet")
	}
	busy = false
	if !Await(t.Context(), long, func() bool { return busy }) {
		t.Error("the other process has ended its work, and nothing is quiet")
	}
}

func TestAwaitGoroutines(t *testing.T) {
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
		}
	}()
	if Await(t.Context(), 50*time.Millisecond, nil) {
		t.Error("a goroutine runs, and all is quiet")
	}
	stop.Store(true)
	<-stopped
	if !Await(t.Context(), long, nil) {
		t.Error("the goroutine has ended, and nothing is quiet")
	}
}

// A request counts until its answer is closed, for whoever asks.
func TestAsking(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("yes")) }))
	defer server.Close()
	client := &http.Client{Transport: Asking(http.DefaultTransport)}
	before := open.Load()
	for query, want := range map[string]int64{"": 1, "?watch=true": 0} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if got := open.Load() - before; got != want {
			t.Errorf("%q: %d are open before the answer is read, want %d", query, got, want)
		}
		_ = response.Body.Close()
		_ = response.Body.Close()
		if got := open.Load() - before; got != 0 {
			t.Errorf("%q: %d are open at the end", query, got)
		}
	}
	server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := client.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("a server that has ended answers")
	}
	if got := open.Load() - before; got != 0 {
		t.Errorf("%d are open after a request that failed", got)
	}
}
