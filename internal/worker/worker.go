package worker

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
	_ "time/tzdata" // a worker cannot read the time zones of the system

	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/resourceset"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
)

// A process that is started as a worker ends here: Serve does not return before the
// parent is gone.
func init() {
	confine.Serve(os.Args, prepare, map[string]confine.Method{
		wire.Source:    renderSource,
		wire.Build:     build,
		wire.Set:       applications,
		wire.Lua:       answering(runLua),
		wire.CEL:       answering(evalCEL),
		wire.ArgoCM:    answering(readArgoCM),
		wire.Match:     answering(match),
		wire.Translate: answering(translate),
		wire.Rules:     answering(readRules),
		wire.Form:      answering(fillForm),
		wire.Helmfile:  loadHelmfile,
		wire.Terraform: answering(terraform.Read),
		wire.Releases:  answering(terraform.Releases),
		wire.Made:      answering(terraform.MadeBy),
		wire.Units:     answering(terraform.Units),
		wire.Objects:   parseObjects,

		wire.ResourceSet: answering(resourceset.Make),
		wire.IgnoreCheck: answering(checkIgnore),
		wire.Ignoring:    answering(ignoring),
		wire.Without:     answering(without),
	})
}

// prepare makes the worker ask its parent for what libraries would fetch.
func prepare() {
	time.Local = time.UTC
	http.DefaultTransport = loading
}

// loading is the only way of a worker to a network: the parent fetches, or refuses.
var loading = &transport{}

// transport asks for what the kustomization needs that is built. The libraries do not
// say what they fetch something for, so a worker builds one at a time.
type transport struct {
	mu     sync.Mutex
	parent *confine.Parent
}

// serve lets libraries fetch for a call.
func (t *transport) serve(parent *confine.Parent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parent = parent
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // requests have none
	}
	t.mu.Lock()
	parent := t.parent
	t.mu.Unlock()
	if parent == nil {
		return nil, errors.New("nothing is fetched here")
	}
	data, err := parent.Ask(wire.OpFile, []byte(r.URL.String()))
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)), Request: r,
	}, nil
}
