package engine

import (
	"context"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/executor"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// observations keeps the last one of each component.
type observations struct {
	mu  sync.Mutex
	all map[string]executor.Observation
}

func (o *observations) last(component string) executor.Observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[component]
}

// watch runs a watch until the test ends.
func watch(t *testing.T, w interface {
	Watch(ctx context.Context, sink func(executor.Observation)) error
}) *observations {
	o := &observations{all: map[string]executor.Observation{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- w.Watch(ctx, func(seen executor.Observation) {
			t.Logf("%s: %s at %q: %s", seen.Component, seen.Health, seen.Revision, seen.Message)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.all[seen.Component] = seen
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return o
}
