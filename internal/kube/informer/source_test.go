package informer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
)

// server is a resource whose answers the test decides on.
type server struct {
	dynamic.ResourceInterface
	list  func(ctx context.Context) (*unstructured.UnstructuredList, error)
	watch func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

func (s server) List(ctx context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return s.list(ctx)
}

func (s server) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.watch(ctx, options)
}

func (s server) source() Source { return Source{Resource: s, Clock: clock.RealClock{}} }

// begin begins a watch that is answered at once.
func begin(t *testing.T, inner watch.Interface) watch.Interface {
	t.Helper()
	w, err := server{watch: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return inner, nil }}.source().watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// ended waits for the end of a watch and says after how long that was.
func ended(w watch.Interface) time.Duration {
	began := time.Now()
	for ok := true; ok; _, ok = <-w.ResultChan() {
	}
	return time.Since(began)
}

func TestWatchWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := server{watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}.source().watch(t.Context(), metav1.ListOptions{})
		if !errors.Is(err, errSilent) || time.Since(began) != Silence {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestWatchRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		_, err := server{watch: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return nil, refused
		}}.source().watch(t.Context(), metav1.ListOptions{})
		if !errors.Is(err, refused) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestWatchFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := watch.NewFake()
		var over context.Context
		w, err := server{watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			over = ctx
			return inner, nil
		}}.source().watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 100 {
				time.Sleep(Silence - time.Second)
				inner.Modify(&unstructured.Unstructured{})
			}
		}()
		if after := ended(w); after != 100*(Silence-time.Second)+Silence {
			t.Errorf("the watch ended after %s", after)
		}
		synctest.Wait()
		if !inner.IsStopped() || over.Err() == nil {
			t.Error("the connection of the dead watch is still open")
		}
	})
}

// That nobody takes an event is no silence, and none is lost by it.
func TestWatchWithSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := watch.NewFake()
		w := begin(t, inner)
		go func() {
			inner.Add(&unstructured.Unstructured{})
			inner.Delete(&unstructured.Unstructured{})
			inner.Stop()
		}()
		time.Sleep(3 * Silence)
		for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
			time.Sleep(3 * Silence)
			if event, ok := <-w.ResultChan(); !ok || event.Type != want {
				t.Errorf("event %v %v, want %s", event.Type, ok, want)
			}
		}
		if after := ended(w); after != 0 {
			t.Errorf("the end was passed on after %s", after)
		}
	})
}

func TestWatchStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := watch.NewFake()
		w := begin(t, inner)
		inner.Add(&unstructured.Unstructured{}) // nobody will take it
		w.Stop()
		w.Stop()
		if after := ended(w); after != 0 || !inner.IsStopped() {
			t.Errorf("ended after %s, stopped: %v", after, inner.IsStopped())
		}
	})
}

// A watch is asked for a term, except where it first tells what is there, which
// may take longer.
func TestWatchTerm(t *testing.T) {
	yes, minutes := true, int64(400)
	for name, tc := range map[string]struct {
		options metav1.ListOptions
		want    int64
	}{
		"of changes":       {metav1.ListOptions{TimeoutSeconds: &minutes}, 20},
		"of what is there": {metav1.ListOptions{TimeoutSeconds: &minutes, SendInitialEvents: &yes}, minutes},
	} {
		t.Run(name, func(t *testing.T) {
			var asked metav1.ListOptions
			s := server{watch: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
				asked = options
				return watch.NewEmptyWatch(), nil
			}}.source()
			s.Select = func(options *metav1.ListOptions) { options.FieldSelector = "type=Warning" }
			w, err := s.watch(t.Context(), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			ended(w)
			if *asked.TimeoutSeconds != tc.want || asked.FieldSelector != "type=Warning" || tc.options.FieldSelector != "" {
				t.Errorf("asked for %d s of %q", *asked.TimeoutSeconds, asked.FieldSelector)
			}
		})
	}
}

func TestListWithoutAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := server{list: func(ctx context.Context) (*unstructured.UnstructuredList, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}.source().list(t.Context(), metav1.ListOptions{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != listPatience {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
