package quiet

import (
	"io"
	"net/http"
)

// Asking counts the requests that this process makes by a transport, from their
// beginning until their answers are read. Whoever waits for an answer does nothing,
// and neither does the server while the request, or the answer, is on its way. A slow
// one is given up, as all is: the server counts it. Watches are left out, as in Requests.
func Asking(next http.RoundTripper) http.RoundTripper { return asking{next} }

type asking struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	if isWatch(r) {
		return a.next.RoundTrip(r)
	}
	finished := Begin()
	response, err := a.next.RoundTrip(r)
	if err != nil || response.Body == nil {
		finished()
		return response, err
	}
	response.Body = &answer{ReadCloser: response.Body, finished: finished}
	return response, nil
}

// WrappedRoundTripper implements the interface of that name in k8s.io/apimachinery.
func (a asking) WrappedRoundTripper() http.RoundTripper { return a.next }

// answer is the body of a response, read until it is closed.
type answer struct {
	io.ReadCloser
	finished func()
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.finished()
	return a.ReadCloser.Close()
}
