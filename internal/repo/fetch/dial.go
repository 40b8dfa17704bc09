package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const (
	// dialTimeout bounds how long a host may take to accept a connection.
	dialTimeout = 5 * time.Second
	// enough is how many hosts must fail, and none be reached, before the run counts
	// as one without a network: looking up names takes time too.
	enough = 3
)

// dialer makes all connections. It judges the address of each when the connection
// is made, so that what a name resolves to counts, and not what it resolved to
// before. It does not ask a host again that failed in this run.
type dialer struct {
	trusted  hostList
	resolver *net.Resolver // nil for that of the system

	mu    sync.Mutex
	hosts map[host]*contact
	// reached and failed count hosts.
	reached, failed int
}

// contact is what is known of one host. The first connection to it is made alone:
// the others wait for how it ends.
type contact struct {
	first   chan struct{} // holds one token while no connection was tried
	mu      sync.Mutex
	reached bool
	err     error
}

func (c *contact) state() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reached, c.err
}

// enter waits until the first connection has ended, or is the one to make it.
func (c *contact) enter(ctx context.Context) (release func(), err error) {
	if reached, err := c.state(); reached || err != nil {
		return func() {}, err
	}
	select {
	case <-c.first:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	release = func() { c.first <- struct{}{} }
	if reached, err := c.state(); reached || err != nil {
		release()
		return func() {}, err
	}
	return release, nil
}

func newDialer(trusted hostList, resolver *net.Resolver) *dialer {
	return &dialer{trusted: trusted, resolver: resolver, hosts: map[host]*contact{}}
}

// judge decides whether an address may be asked for a host. It returns a
// *RefusedError.
func (d *dialer) judge(h host, ip netip.Addr) error {
	switch classify(ip) {
	case public:
		return nil
	case private:
		if d.trusted.has(h) {
			return nil
		}
		return &RefusedError{Address: h.String(), Reason: fmt.Sprintf("%s is an address of this machine or of a private network", ip),
			Fix: "name the host with --allow-host " + h.String() + " if you trust it"}
	default:
		return &RefusedError{Address: h.String(), Reason: fmt.Sprintf("%s is a link-local, multicast, metadata or reserved address, which is never asked", ip),
			Fix: "name another host, or vendor what it holds"}
	}
}

// Dial connects to the host of an address, HOST:PORT as written there.
func (d *dialer) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	h := host{name, port}
	return d.connect(ctx, h, func(ip netip.Addr) error { return d.judge(h, ip) })
}

// connect connects to a host at the addresses that judge allows.
func (d *dialer) connect(ctx context.Context, h host, judge func(netip.Addr) error) (net.Conn, error) {
	c := d.contact(h)
	release, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if d.cutOff() {
		return nil, fmt.Errorf("%s is not asked: %s", h, finding.NoHostReached)
	}
	plain := net.Dialer{
		Timeout:  dialTimeout,
		Resolver: d.resolver,
		ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("address %s: %w", resolved, err)
			}
			return judge(at.Addr())
		},
	}
	conn, err := plain.DialContext(ctx, "tcp", h.String())
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return nil, refused
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		err = fmt.Errorf("%s %s: %w", h, finding.Unreached, err)
		d.fail(h, err)
		return nil, err
	}
	d.succeed(c)
	return conn, nil
}

func (d *dialer) contact(h host) *contact {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.hosts[h]
	if !ok {
		c = &contact{first: make(chan struct{}, 1)}
		c.first <- struct{}{}
		d.hosts[h] = c
	}
	return c
}

func (d *dialer) succeed(c *contact) {
	c.mu.Lock()
	before := c.reached
	c.reached = true
	c.mu.Unlock()
	if !before {
		d.mu.Lock()
		d.reached++
		d.mu.Unlock()
	}
}

// fail remembers that a host does not answer.
func (d *dialer) fail(h host, err error) {
	c := d.contact(h)
	c.mu.Lock()
	reached, before := c.reached, c.err
	if before == nil {
		c.err = err
	}
	c.mu.Unlock()
	if !reached && before == nil {
		d.mu.Lock()
		d.failed++
		d.mu.Unlock()
	}
}

func (d *dialer) cutOff() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reached == 0 && d.failed >= enough
}
