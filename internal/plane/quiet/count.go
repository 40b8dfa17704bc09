package quiet

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// begun counts requests and items that have come, open those that have not ended.
var begun, open atomic.Int64

func begin() {
	begun.Add(1)
	open.Add(1)
}

// end lowers what is taken to be given up as well: what begins next is something else.
func end() {
	n := open.Add(-1)
	for given := left.Load(); n < given && !left.CompareAndSwap(given, n); given = left.Load() {
	}
}

// Begin counts something else that this process has to do, until the returned function
// is called. What does nothing for a quarter of a second is taken to be given up.
func Begin() (finished func()) {
	begin()
	return sync.OnceFunc(end)
}

// Activity counts what has begun in this process so far: two equal counts say that
// nothing has begun in between.
func Activity() int64 { return begun.Load() }

// Requests counts the requests of a server while they are under way. Left out are
// watches, which never end, questions whether the server is up, and paths that are
// named.
func Requests(next http.Handler, without ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isWatch(r) || isProbe(r.URL.Path, without) {
			next.ServeHTTP(w, r)
			return
		}
		begin()
		defer end()
		next.ServeHTTP(w, r)
	})
}

func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch != "" && watch != "0" && watch != "false" || strings.Contains(r.URL.Path, "/watch/")
}

func isProbe(path string, without []string) bool {
	for _, p := range append([]string{"/readyz", "/livez", "/healthz", "/version"}, without...) {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

func init() { workqueue.SetProvider(provider{}) }

// postponed is when an item was last put off, in nanoseconds of Unix time: a
// controller that meets a conflict tries again some milliseconds later, and the queue
// does not tell of what it holds until then.
var postponed atomic.Int64

// provider makes the metrics of every work queue count here: an addition begins an
// item, the end of its work ends it.
type provider struct{}

type (
	added  struct{}
	later  struct{}
	worked struct{}
	unused struct{}
)

func (added) Inc()             { begin() }
func (worked) Observe(float64) { end() }
func (later) Inc()             { postponed.Store(time.Now().UnixNano()) }
func (unused) Inc()            {}
func (unused) Dec()            {}
func (unused) Set(float64)     {}
func (unused) Observe(float64) {}

func (provider) NewAddsMetric(string) workqueue.CounterMetric           { return added{} }
func (provider) NewWorkDurationMetric(string) workqueue.HistogramMetric { return worked{} }
func (provider) NewDepthMetric(string) workqueue.GaugeMetric            { return unused{} }
func (provider) NewLatencyMetric(string) workqueue.HistogramMetric      { return unused{} }
func (provider) NewRetriesMetric(string) workqueue.CounterMetric        { return later{} }
func (provider) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unused{}
}

func (provider) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return unused{}
}
