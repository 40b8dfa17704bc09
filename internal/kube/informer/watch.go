package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// errSilent is why a watch was given up.
var errSilent = errors.New("nothing came through the watch any more")

// Watch begins a watch that ends after a term, and when it falls silent. Who
// needs it for longer begins another one then.
func Watch(ctx context.Context, c clock.Clock, options metav1.ListOptions, begin func(context.Context, metav1.ListOptions) (watch.Interface, error)) (watch.Interface, error) {
	// What is there already may take longer than a term to come through, but it
	// comes without a pause.
	if options.SendInitialEvents == nil || !*options.SendInitialEvents {
		seconds := int64(Term / time.Second)
		options.TimeoutSeconds = &seconds
	}
	ctx, cancel := context.WithCancelCause(ctx)
	silence := c.NewTimer(Silence)
	answered, listening := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listening)
		select {
		case <-silence.C():
			cancel(errSilent)
		case <-answered:
		}
	}()
	inner, err := begin(ctx, options)
	close(answered)
	<-listening
	if err != nil {
		if errors.Is(context.Cause(ctx), errSilent) {
			err = fmt.Errorf("watch: %w", errSilent)
		}
		silence.Stop()
		cancel(nil)
		return nil, err
	}
	return relay(inner, silence, func() { cancel(nil) }), nil
}
