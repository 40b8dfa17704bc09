package load

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
)

type refused struct{}

func (refused) Error() string   { return "refused" }
func (refused) Timeout() bool   { return true }
func (refused) Temporary() bool { return false }

// noProxy keeps the environment of whoever runs the test out.
func noProxy(t *testing.T) {
	t.Helper()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, "")
	}
}

// TestHostThatFails is asked once, whatever is wanted of it, and other hosts are
// asked still.
func TestHostThatFails(t *testing.T) {
	noProxy(t)
	var dials, fetches atomic.Int32
	n := newNetwork()
	n.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		dials.Add(1)
		if address == "down.example.com:443" {
			return nil, refused{}
		}
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		return ours, nil
	}
	n.fetch = func(_ context.Context, repoURL, name, _ string) ([]byte, error) {
		fetches.Add(1)
		if repoURL == "https://slow.example.com/charts" {
			return nil, refused{}
		}
		return []byte(name), nil
	}
	ctx := context.Background()
	for range 2 {
		for _, name := range []string{"a", "b"} {
			if _, err := n.Fetch(ctx, "https://down.example.com/charts", name, "1.0.0"); err == nil {
				t.Error("a chart of a host that is down was fetched")
			}
			if _, err := n.Fetch(ctx, "https://slow.example.com/charts", name, "1.0.0"); err == nil {
				t.Error("a chart of a host that does not answer was fetched")
			}
			if data, err := n.Fetch(ctx, "https://up.example.com/charts", name, "1.0.0"); err != nil || string(data) != name {
				t.Errorf("%q, %v", data, err)
			}
		}
		if err := n.Reach(ctx, "https://down.example.com/base.yaml"); err == nil {
			t.Error("a host that is down is reached")
		}
	}
	// One dial for each host; one fetch of the slow host, two of the other.
	if dials.Load() != 3 || fetches.Load() != 3 {
		t.Errorf("%d dials and %d fetches, want 3 and 3", dials.Load(), fetches.Load())
	}
}

// TestNoNetwork: after some hosts could not be reached, and none could, others are
// not tried.
func TestNoNetwork(t *testing.T) {
	noProxy(t)
	dials := 0
	n := newNetwork()
	n.dial = func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, refused{}
	}
	for _, host := range []string{"a", "b", "c", "d", "e"} {
		if err := n.Reach(context.Background(), "https://"+host+".example.com"); err == nil {
			t.Errorf("%s is reached", host)
		}
	}
	if dials != enough {
		t.Errorf("%d dials, want %d", dials, enough)
	}
}

// TestBrokenOffIsForgotten: what ended with its context is tried again.
func TestBrokenOffIsForgotten(t *testing.T) {
	noProxy(t)
	n := newNetwork()
	n.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, ctx.Err() }
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := n.Reach(ctx, "https://example.com"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	n.dial = func(context.Context, string, string) (net.Conn, error) {
		ours, _ := net.Pipe()
		return ours, nil
	}
	if err := n.Reach(context.Background(), "https://example.com"); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestHosts(t *testing.T) {
	for address, want := range map[string]string{
		"https://charts.example.com/stable":   "charts.example.com:443",
		"http://charts.example.com:8080":      "charts.example.com:8080",
		"http://charts.example.com":           "charts.example.com:80",
		"oci://registry.example.com/charts/a": "registry.example.com:443",
		"registry.example.com:5000/charts":    "registry.example.com:5000",
		"github.com/example/things//base":     "github.com:443",
		"git@github.com:example/things.git":   "github.com:22",
		"ssh://git@github.com/example/things": "github.com:22",
		"https://user:pass@example.com/a":     "example.com:443",
		"git::https://example.com/a":          "example.com:443",
		"https://[::1]:6443/a":                "[::1]:6443",
		"":                                    "",
		"https://":                            "",
	} {
		if got, _ := hostOf(address); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
