package informer

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

const (
	// Term is how long the API server is asked to keep a watch: a reflector
	// begins the next one where it ended, so that it costs one request. Without
	// it, reflectors ask for five to ten minutes, which is longer than most
	// components may take to become Healthy.
	Term = 20 * time.Second
	// Silence is how long nothing may come through a watch, not even its end,
	// until it is taken for dead.
	Silence = Term + 5*time.Second
	// listPatience bounds a list. The API server gives up after a minute itself.
	// Source: kube-apiserver, --request-timeout.
	listPatience = 65 * time.Second
)

// Source is a resource of an API server, in one namespace or in all.
type Source struct {
	// Client reaches the API server, without a timeout of its own; Resource is
	// what is asked for there.
	Client   dynamic.Interface
	Resource dynamic.ResourceInterface
	// Select, if set, narrows what is asked for.
	Select func(*metav1.ListOptions)
	Clock  clock.Clock
	// Open, if set, is told when a watch has begun, and when it has ended.
	Open func(bool)
}

// ListerWatcher is the source as a reflector or an informer asks it.
func (s Source) ListerWatcher() cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: s.list, WatchFuncWithContext: s.watch,
	}, s.Client)
}

func (s Source) selected(options metav1.ListOptions) metav1.ListOptions {
	if s.Select != nil {
		s.Select(&options)
	}
	return options
}

func (s Source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	return s.Resource.List(ctx, s.selected(options))
}

func (s Source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := Watch(ctx, s.Clock, s.selected(options), s.Resource.Watch)
	if err != nil || s.Open == nil {
		return w, err
	}
	s.Open(true)
	return closing{w, sync.OnceFunc(func() { s.Open(false) })}, nil
}

// closing tells when the reader of a watch, who stops every one that has ended, does so.
type closing struct {
	watch.Interface
	tell func()
}

// Stop implements watch.Interface.
func (c closing) Stop() {
	c.Interface.Stop()
	c.tell()
}
