package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// SilentError means that the API server did not answer in time. It does not unwrap
// to the end of the request, which must not be taken for the end of a context.
type SilentError struct{ err error }

// Error implements error.
func (e *SilentError) Error() string { return "the API server did not answer: " + e.err.Error() }

func wordOutage(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &SilentError{err}
	}
	return err
}
