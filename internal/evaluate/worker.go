package evaluate

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"time"

	_ "time/tzdata" // a worker cannot read the time zones of the system

	"github.com/rollout-ladder/ladder/internal/confine"
)

// Workers are the workers of this process.
var Workers = &confine.Pool{}

// A process that is started as a worker ends here: Serve does not return before the
// parent is gone.
func init() {
	if !confine.IsWorker(os.Args) {
		return
	}
	confine.Serve(os.Args, prepare, map[string]confine.Method{
		methodSource:    renderSource,
		methodBuild:     build,
		methodSet:       applications,
		methodLua:       answering(runLua),
		methodCEL:       answering(evalCEL),
		methodArgoCM:    answering(readArgoCM),
		methodMatch:     answering(match),
		methodTranslate: answering(translate),
		methodRules:     answering(readRules),
		methodForm:      answering(fillForm),
		methodHelmfile:  loadHelmfile,
		methodObjects:   parseObjects,

		methodIgnoreCheck: answering(checkIgnore),
		methodIgnoring:    answering(ignoring),
		methodWithout:     answering(without),
	})
}

// prepare makes the worker ask its parent for what libraries would fetch.
func prepare(parent *confine.Parent) {
	time.Local = time.UTC
	http.DefaultTransport = transport{parent}
}

// transport is the only way of a worker to a network: the parent fetches, or
// refuses.
type transport struct{ parent *confine.Parent }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // requests have none
	}
	data, err := t.parent.Ask(opFile, []byte(r.URL.String()))
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)), Request: r,
	}, nil
}
