package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/render/helm"
)

// reachTimeout bounds how long a host may take to answer for the first time.
const reachTimeout = 5 * time.Second

// network fetches charts for all environments of a run. Every chart is fetched
// once, and a host that failed is not asked again: without a network the whole
// run must end as quickly as with one.
type network struct {
	fetch helm.Fetch
	dial  func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	hosts  map[string]*once[struct{}]
	charts map[string]*once[[]byte]
	// reached and failed count hosts.
	reached, failed int
}

// enough is how many hosts must fail, and none be reached, before the run counts
// as one without a network: looking up names takes time too.
const enough = 3

// once is something that is found out one time.
type once[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func newNetwork() *network {
	return &network{fetch: helm.Pull, dial: (&net.Dialer{Timeout: reachTimeout}).DialContext, hosts: map[string]*once[struct{}]{}, charts: map[string]*once[[]byte]{}}
}

// Fetch is a helm.Fetch.
func (n *network) Fetch(ctx context.Context, repoURL, name, version string) ([]byte, error) {
	return find(ctx, &n.mu, n.charts, strings.Join([]string{repoURL, name, version}, "\x00"), func() ([]byte, error) {
		if err := n.Reach(ctx, repoURL); err != nil {
			return nil, err
		}
		data, err := n.fetch(ctx, repoURL, name, version)
		var trouble net.Error
		if errors.As(err, &trouble) && ctx.Err() == nil {
			n.fail(repoURL, err)
		}
		return data, err
	})
}

// Reach connects to the host of an address, and reports why it cannot. Behind a
// proxy every host counts as reachable.
func (n *network) Reach(ctx context.Context, address string) error {
	host, ok := hostOf(address)
	if !ok || proxied(host) {
		return nil
	}
	_, err := find(ctx, &n.mu, n.hosts, host, func() (struct{}, error) {
		if n.cutOff() {
			return struct{}{}, fmt.Errorf("%s is not asked: no other host could be reached", host)
		}
		dialing, cancel := context.WithTimeout(ctx, reachTimeout)
		defer cancel()
		conn, err := n.dial(dialing, "tcp", host)
		if ctx.Err() == nil {
			n.count(err)
		}
		if err != nil {
			return struct{}{}, fmt.Errorf("%s cannot be reached: %w", host, err)
		}
		_ = conn.Close() // nothing was sent
		return struct{}{}, nil
	})
	return err
}

func (n *network) cutOff() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reached == 0 && n.failed >= enough
}

func (n *network) count(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.failed++
	} else {
		n.reached++
	}
}

// fail remembers that a host does not answer.
func (n *network) fail(address string, err error) {
	host, ok := hostOf(address)
	if !ok {
		return
	}
	failed := &once[struct{}]{done: make(chan struct{}), err: fmt.Errorf("%s failed before: %w", host, err)}
	close(failed.done)
	n.mu.Lock()
	n.hosts[host] = failed
	n.mu.Unlock()
}

// find returns what is known under a key, or finds it out. What was broken off is
// forgotten again.
func find[T any](ctx context.Context, mu *sync.Mutex, known map[string]*once[T], key string, out func() (T, error)) (T, error) {
	mu.Lock()
	one, ok := known[key]
	if !ok {
		one = &once[T]{done: make(chan struct{})}
		known[key] = one
	}
	mu.Unlock()
	if ok {
		select {
		case <-one.done:
			return one.value, one.err
		case <-ctx.Done():
			return one.value, context.Cause(ctx)
		}
	}
	one.value, one.err = out()
	if ctx.Err() != nil {
		mu.Lock()
		delete(known, key)
		mu.Unlock()
	}
	close(one.done)
	return one.value, one.err
}

// hostOf returns "host:port" of the address of a chart repository, a registry or
// a Git repository.
func hostOf(address string) (string, bool) {
	if user, rest, ok := strings.Cut(address, "@"); ok && !strings.ContainsAny(user, ":/") {
		host, _, _ := strings.Cut(rest, ":")
		host, _, _ = strings.Cut(host, "/")
		return net.JoinHostPort(host, "22"), host != ""
	}
	address = strings.TrimPrefix(address, "git::")
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "ssh": "22", "git": "9418"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port), true
}

// proxied reports whether requests to a host go through a proxy.
func proxied(host string) bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: host}})
	return err == nil && proxy != nil
}
