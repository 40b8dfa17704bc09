package fetch

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClassify(t *testing.T) {
	for address, want := range map[string]network{
		"1.1.1.1": public, "2606:4700::1": public, "::ffff:1.1.1.1": public, "64:ff9b::101:101": public,
		"127.0.0.1": private, "127.255.0.1": private, "10.1.2.3": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.0.1": private,
		"100.64.0.1": private, "::1": private, "fc00::1": private, "fd12::1": private, "::ffff:10.0.0.1": private, "64:ff9b::7f00:1": private,
		"0.0.0.0": forbidden, "0.1.2.3": forbidden, "::": forbidden, "169.254.169.254": forbidden, "169.254.170.2": forbidden, "::ffff:169.254.169.254": forbidden,
		"64:ff9b::a9fe:a9fe": forbidden, "fe80::1": forbidden, "fe80::1%eth0": forbidden, "fd00:ec2::254": forbidden, "fd00:ec2::23": forbidden, "fd20:ce::254": forbidden,
		"100.100.100.200": forbidden, "168.63.129.16": forbidden, "192.0.0.192": forbidden, "224.0.0.1": forbidden, "239.1.1.1": forbidden, "255.255.255.255": forbidden, "240.0.0.1": forbidden,
		"ff02::1": forbidden, "2002:7f00:1::1": forbidden, "2001::1": forbidden, "::127.0.0.1": forbidden, "fec0::1": forbidden, "64:ff9b:1::1": forbidden, "192.0.2.1": forbidden,
	} {
		if got := classify(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %d, want %d", address, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for _, name := range []string{"0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.1", "0x7f000001", "127.0.0.0x1", "-a.example.com", "a..b", "ex ample", "", "[::1]", "ex%61mple.com", "bücher.example", "a/b", "a@b", "a:b"} {
		if _, reason := parseHost(name, "", "https"); reason == "" {
			t.Errorf("host %q is taken", name)
		}
	}
	for given, want := range map[string]string{"Example.COM.": "example.com:443", "::ffff:127.0.0.1": "127.0.0.1:443", "::1": "[::1]:443", "my_host.local": "my_host.local:443"} {
		if h, reason := parseHost(given, "", "https"); reason != "" || h.String() != want {
			t.Errorf("%s: %s %s, want %s", given, h, reason, want)
		}
	}
	l := newHostList([]string{"a.example.com", "B.example.com:8443", "::1", "[::2]:80", "10.0.0.1", "nonsense:", ":80", "a b", "c.example.com:0"})
	for _, h := range []host{{"a.example.com", "1"}, {"b.example.com", "8443"}, {"::1", "443"}, {"::2", "80"}, {"10.0.0.1", "22"}} {
		if !l.has(h) {
			t.Errorf("%s is not in the list", h)
		}
	}
	for _, h := range []host{{"b.example.com", "443"}, {"x.a.example.com", "443"}, {"::2", "443"}, {"nonsense", "443"}, {"c.example.com", "443"}} {
		if l.has(h) {
			t.Errorf("%s is in the list", h)
		}
	}
	if len(l) != 5 {
		t.Errorf("%d entries", len(l))
	}
}

func TestShow(t *testing.T) {
	for given, want := range map[string]string{
		"https://u:p@h/x?token=t": "https://h/x", "u:p@registry/x": "registry/x", "git@h:a/b?ref=x": "git@h:a/b", "https://h/\x1b[31m\n": "https://h/?[31m?",
	} {
		if got := show(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// TestRedirectHeaders: what a client has set itself does not go to another origin;
// net/http would send it to another port and to a subdomain.
func TestRedirectHeaders(t *testing.T) {
	for to, kept := range map[string]bool{"https://h/b": true, "https://h:8443/b": false, "https://x.h/b": false, "https://other/b": false} {
		first, next := request(t, "https://h/a"), request(t, to)
		next.Header.Set("Authorization", "x")
		next.Header.Set("Cookie", "x")
		if err := redirect(next, []*http.Request{first}); err != nil {
			t.Fatal(err)
		}
		if (next.Header.Get("Authorization") != "") != kept || (next.Header.Get("Cookie") != "") != kept {
			t.Errorf("%s: %v", to, next.Header)
		}
	}
	post := request(t, "https://h/a")
	post.Method = http.MethodPost
	if redirect(request(t, "https://h/b"), []*http.Request{post}) == nil {
		t.Error("what is sent is redirected")
	}
}

func request(t *testing.T, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
