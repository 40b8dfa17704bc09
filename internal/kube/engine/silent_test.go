package engine

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/kube/informer"
)

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

const podless = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}},
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}}`

// deafening is a way to the API server on which watches of one resource fall
// silent: they stay open, and nothing comes through, not even their end.
type deafening struct {
	http.RoundTripper
	resource string

	mu      sync.Mutex
	deaf    bool          // watches that were begun before are silent
	silence chan struct{} // closed when they fall silent
	asked   int           // watches that were begun since
}

func (d *deafening) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("watch") != "true" || !strings.HasSuffix(request.URL.Path, "/"+d.resource) {
		return d.RoundTripper.RoundTrip(request)
	}
	d.mu.Lock()
	silence := d.silence
	if d.deaf { // a new watch is another connection
		d.asked++
		silence = nil
	}
	d.mu.Unlock()
	answer, err := d.RoundTripper.RoundTrip(request)
	if err == nil && silence != nil {
		answer.Body = &deafened{ReadCloser: answer.Body, over: request.Context().Done(), silence: silence}
	}
	return answer, err
}

// fallSilent has nothing come through the watches that are open.
func (d *deafening) fallSilent() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deaf = true
	close(d.silence)
}

// begun is how many watches were begun since then.
func (d *deafening) begun() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

type deafened struct {
	io.ReadCloser
	over, silence <-chan struct{} // the request is over; the watch falls silent
}

func (d *deafened) Read(b []byte) (int, error) {
	type part struct {
		n   int
		err error
	}
	read := make(chan part, 1)
	own := make([]byte, len(b))
	go func() {
		n, err := d.ReadCloser.Read(own)
		read <- part{n, err}
	}()
	select {
	case p := <-read:
		select {
		case <-d.silence:
		default:
			copy(b, own[:p.n])
			return p.n, p.err
		}
	case <-d.silence:
	}
	<-d.over
	return 0, errors.New("the watch was given up")
}

// hurried is the system's clock, but for the timers of silent watches, which the test
// has run out.
type hurried struct {
	clock.Clock
	silences *clocktesting.FakeClock
}

func (h hurried) NewTimer(d time.Duration) clock.Timer {
	if d == informer.Silence {
		return h.silences.NewTimer(d)
	}
	return h.Clock.NewTimer(d)
}

// A change that somebody else makes is seen although the watch that should tell of
// it has fallen silent.
func TestClusterSilentWatch(t *testing.T) {
	w := newWorld(t)
	ctx := w.context()
	silences := clocktesting.NewFakeClock(time.Now())
	w.clock = hurried{clock.RealClock{}, silences}
	way := &deafening{resource: "deployments", silence: make(chan struct{})}
	w.config = rest.CopyConfig(w.config)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		way.RoundTripper = next
		return way
	})
	name := "app-" + w.ns
	e := w.engine("r1", map[string]string{name: podless}, model.Component{Name: name, SyncOptions: []string{"CreateNamespace=true"}})
	seen := w.watch(e)
	mustSync(t, ctx, e, name)
	seen.until(t, ctx, "waiting for pods", func(all map[string]executor.Observation) bool {
		return all[name].Health == rollout.Progressing && all[name].Revision == "r1"
	})
	way.fallSilent()
	// Nothing runs pods here: their controller's part is taken by the test.
	_, err := w.client.Resource(deployments).Namespace(w.ns).Patch(ctx, "web", types.MergePatchType,
		[]byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// An event that came through just now may set a timer back once more.
	for way.begun() == 0 {
		silences.Step(informer.Silence)
		if Pause(ctx, clock.RealClock{}, 20*time.Millisecond) != nil {
			t.Fatal("no new watch was begun")
		}
	}
	seen.until(t, ctx, "healthy", healthyAt(name, "r1"))
}

// A watch that follows another at once is not missed; one that was away is, until it is
// back.
func TestBlind(t *testing.T) {
	c := clocktesting.NewFakeClock(time.Unix(1000, 0))
	o := newObserver(t.Context(), nil, c, nil, nil)
	k := newWatchedKind(o, schema.GroupKind{Kind: "Pod"}, mapping{})
	o.kinds[k.kind] = k
	blind := func(want time.Time) {
		t.Helper()
		if got := o.blindAt(); !got.Equal(want) {
			t.Errorf("blind at %s, want %s", got, want)
		}
	}
	blind(time.Time{})
	k.open(true)
	k.open(false)
	c.Step(gap)
	blind(time.Time{})
	k.open(true)
	blind(time.Time{})
	k.open(false)
	c.Step(gap + 1)
	blind(c.Now())
	k.open(true)
	back := c.Now()
	c.Step(time.Minute)
	blind(back)
}
