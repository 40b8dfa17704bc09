package status

import (
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Requests counts the requests to an API server; a watch counts once.
type Requests struct {
	reads, writes, watches atomic.Int64
}

// Reads is the number of lists and gets so far.
func (r *Requests) Reads() int64 { return r.reads.Load() }

// Writes is the number of requests that change something.
func (r *Requests) Writes() int64 { return r.writes.Load() }

// Watches is the number of watches that were begun.
func (r *Requests) Watches() int64 { return r.watches.Load() }

// Counted is a copy of a configuration whose requests r counts.
func (r *Requests) Counted(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counting{next, r} })
	return config
}

type counting struct {
	next http.RoundTripper
	r    *Requests
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.Method != http.MethodGet:
		c.r.writes.Add(1)
	case request.URL.Query().Get("watch") == "true" || request.URL.Query().Get("watch") == "1":
		c.r.watches.Add(1)
	default:
		c.r.reads.Add(1)
	}
	return c.next.RoundTrip(request)
}
