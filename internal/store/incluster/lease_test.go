package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/rollout-ladder/ladder/internal/store"
)

// Whatever stops and wakes up, whatever the clocks say, and however long the API server
// takes: once a lease has another holder, at most one write of the former one arrives.
func TestTheFormerHolderWritesOnceAtMost(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 10
	}
	takeovers, late := 0, 0
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed)
			var machines sync.WaitGroup
			for i := range 3 {
				machines.Go(func() { w.machine(i) })
			}
			time.Sleep(12 * time.Minute)
			w.close()
			machines.Wait()
			n, m := w.judge()
			takeovers += n
			late += m
		})
	}
	t.Logf("%d takeovers, %d late writes", takeovers, late)
	if takeovers < seeds || late == 0 && !testing.Short() { // a late write is rare
		t.Errorf("%d takeovers, %d late writes: nothing is tested", takeovers, late)
	}
}

// world is an API server in memory and machines that want one rollout. A run holds it
// for a while, and writes.
type world struct {
	*testing.T
	seed   uint64
	leases *server
	ctx    context.Context
	end    context.CancelFunc
	conns  chan net.Conn
	http   *http.Server

	mu       sync.Mutex
	dice     *rand.Rand
	landed   []landing
	machines []*machineClock
}

// landing is a write that took effect, or that made somebody the holder.
type landing struct {
	run   string
	takes bool
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, seed: seed, leases: newServer(), conns: make(chan net.Conn), dice: rand.New(rand.NewPCG(seed, 2))}
	w.ctx, w.end = context.WithCancel(t.Context())
	w.http = &http.Server{Handler: w}
	go func() { _ = w.http.Serve(w) }()
	return w
}

func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.IntN(n)
}

func (w *world) seconds(n int) time.Duration { return time.Duration(w.roll(n*1000)) * time.Millisecond }

func (w *world) note(l landing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.landed = append(w.landed, l)
}

// ServeHTTP carries out a write, after a while, unless that is over or nobody waits.
func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // whoever hangs up is noticed after that
	patience, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil {
		w.Errorf("a write without a bound: %s", r.URL)
	}
	var takes time.Duration
	switch w.roll(6) {
	case 0:
		takes = w.seconds(45)
	case 1, 2:
		takes = w.seconds(1)
	default:
		w.note(landing{run: r.Header.Get("Run")})
		return
	}
	select {
	case <-time.After(takes):
		w.note(landing{run: r.Header.Get("Run")})
	case <-time.After(patience):
		out.WriteHeader(http.StatusGatewayTimeout)
	case <-r.Context().Done():
	}
}

// Accept, Close and Addr implement net.Listener.
func (w *world) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.ctx.Done():
		return nil, net.ErrClosed
	}
}
func (w *world) Close() error   { return nil }
func (w *world) Addr() net.Addr { return &net.TCPAddr{} }

// machine runs the rollout again and again, each time as another process.
func (w *world) machine(i int) {
	for w.ctx.Err() == nil {
		m := &machineClock{
			world: w, wall: time.Duration(w.roll(48)-24) * time.Hour, boot: time.Duration(w.roll(1e6)) * time.Second,
			rate: 0.985 + 0.01*float64(w.roll(4)), next: 1 + w.roll(60), thawed: make(chan struct{}),
		}
		close(m.thawed)
		w.mu.Lock()
		w.machines = append(w.machines, m)
		w.mu.Unlock()
		if w.ctx.Err() != nil {
			m.thaw() // close may not have seen it
		}
		w.run(fmt.Sprintf("machine %d", i), m)
		select {
		case <-time.After(w.seconds(20)):
		case <-w.ctx.Done():
		}
	}
}

// run takes the rollout and writes until it is lost, or given up.
func (w *world) run(owner string, m *machineClock) {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	c := w.leases.cluster()
	c.now = func() time.Time { return time.Now().Add(m.wall) }
	c.clock = m.now
	c.leases = slowLeases{c.leases, w, m}
	s, err := Open(ctx, c, acme, Options{Owner: owner, Lost: func(error) { cancel() }})
	if err != nil {
		if !errors.As(err, new(*store.LockedError)) && !transient(err) && ctx.Err() == nil {
			w.Errorf("seed %d: %v", w.seed, err)
		}
		return
	}
	access, err := s.Access(&rest.Config{Host: "http://api", Dial: m.dial})
	must(w.T, err)
	client, err := rest.HTTPClientFor(access)
	must(w.T, err)
	defer client.CloseIdleConnections()
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodPatch, "http://api/object", strings.NewReader("{}"))
				must(w.T, err)
				request.Header.Set("Run", s.lease.self.identity())
				if response, err := client.Do(request); err == nil {
					_ = response.Body.Close()
				}
				// They write at the same moments, so that several are under way in each.
				select {
				case <-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))):
				case <-ctx.Done():
				}
			}
		})
	}
	select {
	case <-time.After(w.seconds(300)):
	case <-ctx.Done():
	}
	cancel()
	writers.Wait()
	must(w.T, s.Close())
}

// close ends everything.
func (w *world) close() {
	w.end()
	w.mu.Lock()
	machines := w.machines
	w.mu.Unlock()
	for _, m := range machines {
		m.thaw()
	}
	_ = w.http.Close()
}

// judge counts the takeovers, and the writes of former holders.
func (w *world) judge() (takeovers, late int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	holder, after := "", map[string]int{}
	for _, l := range w.landed {
		switch {
		case l.takes:
			holder = l.run
			takeovers++
		case l.run != holder:
			after[l.run]++
			late++
		}
	}
	for run, n := range after {
		if n > 1 {
			w.Errorf("seed %d: %d writes of %s arrived after somebody else had taken the lease", w.seed, n, run)
		}
	}
	return takeovers - 1, late
}

// machineClock is a process on a machine of its own, as far as anybody notices: what
// its clocks say, and that it is stopped now and then. It is stopped where it has just
// read the clock, which is the worst moment.
type machineClock struct {
	world      *world
	wall, boot time.Duration
	rate       float64

	mu     sync.Mutex
	next   int // readings until it is stopped
	thawed chan struct{}
	over   bool
}

func (m *machineClock) now() time.Duration {
	elapsed := time.Since(time.Unix(0, 0))
	m.mu.Lock()
	m.next--
	if m.next == 0 && !m.over {
		d := m.world.seconds(120)
		m.next = 1 + m.world.roll(200)
		select {
		case <-m.thawed:
			m.thawed = make(chan struct{})
			time.AfterFunc(d, m.thaw0(m.thawed))
		default: // it is stopped, and thaw must find what everybody waits for
		}
	}
	m.mu.Unlock()
	m.stand()
	return m.boot + time.Duration(float64(elapsed%(1000*time.Hour))*m.rate)
}

// thaw0 wakes the process up once.
func (m *machineClock) thaw0(thawed chan struct{}) func() {
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		select {
		case <-thawed:
		default:
			close(thawed)
		}
	}
}

// thaw wakes the process up for good.
func (m *machineClock) thaw() {
	m.mu.Lock()
	m.over = true
	thawed := m.thawed
	m.mu.Unlock()
	m.thaw0(thawed)()
}

// stand returns when the process is not stopped.
func (m *machineClock) stand() {
	m.mu.Lock()
	thawed := m.thawed
	m.mu.Unlock()
	<-thawed
}

func (m *machineClock) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.world.conns <- far:
		return &processConn{near, m}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-m.world.ctx.Done():
		return nil, net.ErrClosed
	}
}

// processConn is a connection of a process, which does nothing while it is stopped.
type processConn struct {
	net.Conn
	process *machineClock
}

func (c *processConn) Write(b []byte) (int, error) {
	if c.process.world.roll(2) == 0 {
		time.Sleep(time.Millisecond) // others may stop the process meanwhile
	}
	c.process.stand()
	return c.Conn.Write(b)
}

// Close takes effect when the process goes on: its timers do not run before.
func (c *processConn) Close() error {
	go func() {
		c.process.stand()
		_ = c.Conn.Close()
	}()
	return nil
}

func (c *processConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.process.stand()
	return n, err
}

// slowLeases are those of a process, on a network that is slow at times.
type slowLeases struct {
	leases
	world   *world
	process *machineClock
}

// travel is the way of a request or an answer.
func (l slowLeases) travel(ctx context.Context) error {
	l.process.stand()
	d := l.world.seconds(1) / 10
	if l.world.roll(20) == 0 {
		d = l.world.seconds(20)
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	l.process.stand()
	return context.Cause(ctx)
}

func (l slowLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (out *coordinationv1.Lease, err error) {
	if err := l.travel(ctx); err != nil {
		return nil, err
	}
	if out, err = l.leases.Get(ctx, name, options); err != nil {
		return nil, err
	}
	return out, l.travel(ctx)
}

func (l slowLeases) Create(ctx context.Context, o *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	out, err := l.leases.Create(ctx, o, options)
	if err == nil {
		l.world.note(landing{run: ptr.Deref(o.Spec.HolderIdentity, ""), takes: true})
	}
	return out, err
}

func (l slowLeases) Update(ctx context.Context, o *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := l.travel(ctx); err != nil {
		return nil, err
	}
	before, err := l.leases.Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	out, err := l.leases.Update(ctx, o, options)
	if err != nil {
		return nil, err
	}
	if to := ptr.Deref(o.Spec.HolderIdentity, ""); to != "" && to != ptr.Deref(before.Spec.HolderIdentity, "") {
		l.world.note(landing{run: to, takes: true})
	}
	return out, l.travel(ctx)
}
