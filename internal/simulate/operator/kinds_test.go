package operator

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
)

// TestFill: while a kind is not served yet, there is something to do, and as soon as it
// is served its objects are seen: an informer would ask again after a second.
func TestFill(t *testing.T) {
	source := fcache.NewFakeControllerSource()
	thing := &unstructured.Unstructured{}
	thing.SetName("thing")
	source.Add(thing)
	for name, refusals := range map[string]int64{"served": 0, "served after some moments": 10} {
		t.Run(name, func(t *testing.T) {
			informer := cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, cache.Indexers{})
			var asked atomic.Int64
			finished := make(chan struct{})
			go fill(t.Context(), informer, func() { close(finished) }, func(context.Context) error {
				if asked.Add(1) <= refusals {
					if informer.HasSynced() {
						t.Error("the cache is filled before its kind is served")
					}
					return errors.New("not found")
				}
				return nil
			})
			<-finished
			if keys := informer.GetStore().ListKeys(); len(keys) != 1 || asked.Load() != refusals+1 {
				t.Errorf("after %d questions the cache has %v", asked.Load(), keys)
			}
		})
	}
	t.Run("never", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*serving)
		defer cancel()
		finished := make(chan struct{})
		go fill(ctx, cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, cache.Indexers{}), func() { close(finished) },
			func(ctx context.Context) error { <-ctx.Done(); return errors.New("no answer") })
		select {
		case <-finished:
		case <-time.After(30 * time.Second):
			t.Error("a kind that is never served is waited for without end")
		}
	})
}
