package controlplane

import (
	"net/http"
	"sync/atomic"
)

// orders is a handler that can be set while the server runs: the simulated world
// starts later.
type orders struct{ handler atomic.Pointer[http.Handler] }

func (o *orders) set(h http.Handler) {
	if h == nil {
		o.handler.Store(nil)
		return
	}
	o.handler.Store(&h)
}

// ServeHTTP implements http.Handler.
func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := o.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}
