package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// requestTimeout bounds one request that is no watch: the API server gives up
	// after a minute itself. Source: kube-apiserver, --request-timeout.
	requestTimeout = 65 * time.Second
	// outagePatience is how long a request is repeated while the API server is
	// not there or sheds load, which is no fault of any component: a control
	// plane that is upgraded is away for a minute or two. refusalPatience is that
	// for errors that an API server answers and that may go away.
	outagePatience  = 3 * time.Minute
	refusalPatience = 12 * time.Second
	// firstPause and longestPause are the waits between two requests.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// try repeats a request while its error is of the kind that goes away. The
// number of requests at once is bounded.
func (e *Engine) try(ctx context.Context, request func() error) error {
	began, wait := e.config.Server.Now(), firstPause
	for {
		select {
		case e.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := request()
		<-e.slots
		if ctx.Err() != nil && err != nil {
			return ctx.Err()
		}
		patience := time.Duration(0)
		switch {
		case err == nil:
			return nil
		case unanswered(err):
			patience = outagePatience
		case Transient(err):
			patience = refusalPatience
		}
		if e.config.Server.Since(began)+wait > patience {
			return wordOutage(err)
		}
		if pause(ctx, e.config.Server, wait) != nil {
			return ctx.Err()
		}
		wait = min(2*wait, longestPause)
	}
}

// lookup finds how a kind is served; an error that goes away is waited out.
func (e *Engine) lookup(ctx context.Context, gvk schema.GroupVersionKind) (mapping, error) {
	var m mapping
	err := e.try(ctx, func() (err error) {
		m, err = e.mapper.lookup(gvk)
		return err
	})
	return m, err
}

// lateLookup is lookup for a kind whose CRD was applied a moment ago: the API
// server serves a kind shortly after its CRD is established. It is waited for as
// long as is said, and longer where the CRD is established already.
func (e *Engine) lateLookup(ctx context.Context, gvk schema.GroupVersionKind, patience time.Duration) (mapping, error) {
	deadline := e.config.Server.Now().Add(patience)
	for first := true; ; first = false {
		m, err := e.lookup(ctx, gvk)
		if first && isUnserved(err) && e.established(ctx, gvk) {
			deadline = e.config.Server.Now().Add(discoveryPatience)
		}
		if !isUnserved(err) || !e.config.Server.Now().Before(deadline) {
			return m, err
		}
		if err := pause(ctx, e.config.Server, firstPause); err != nil {
			return mapping{}, err
		}
	}
}

// unanswered reports that the API server did not take a request: the connection
// failed, it took too long, or it sheds load.
func unanswered(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if apierrors.IsTooManyRequests(err) {
		return true
	}
	if errors.As(err, new(apierrors.APIStatus)) {
		return false
	}
	return utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, new(net.Error))
}

// Transient reports errors that an API server answers and that go away by
// themselves: etcd that restarts, an overload, a conflict. A webhook that cannot
// be called is not one: it takes as long as its rollout, and people want to see
// it.
func Transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "failed calling webhook") {
		return false
	}
	if unanswered(err) {
		return true
	}
	switch {
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsServiceUnavailable(err),
		apierrors.IsConflict(err), apierrors.IsInternalError(err), apierrors.IsUnexpectedServerError(err):
		return true
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// wordOutage tells a request that took too long from a context that ended.
func wordOutage(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the API server did not answer: %v", err) //nolint:errorlint // it must not be taken for the end of a context
	}
	return err
}
