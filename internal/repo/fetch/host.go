package fetch

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// maxAddress bounds the length of an address in bytes.
const maxAddress = 4096

// host is the host and port of an address, as written there.
type host struct {
	name string // lower case, without a dot at the end and without brackets
	port string
}

// String returns HOST:PORT.
func (h host) String() string { return net.JoinHostPort(h.name, h.port) }

// defaultPorts are the schemes that can be asked.
var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "oci": "443"}

// domain matches the name of a host: letters, digits, hyphens and underscores, no
// hyphen first.
var domain = lazyregexp.New(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$`)

// parseHost checks the host and port of an address. reason is empty where they are
// well-formed.
func parseHost(name, port, scheme string) (h host, reason string) {
	if port == "" {
		port = defaultPorts[scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return host{}, "its port is no number from 1 to 65535"
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.Zone() != "" {
			return host{}, "its IP address has a zone"
		}
		return host{ip.Unmap().String(), port}, ""
	}
	if len(name) > 253 || !domain.MatchString(name) {
		return host{}, "its host is no DNS name in ASCII and no IP address"
	}
	// Resolvers and proxies take 0x7f.1 and 2130706433 for IPv4 addresses.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" {
		return host{}, "its host is an IP address in an unusual form"
	}
	return host{name, port}, ""
}

// fixAddress is the way out for an address that is malformed.
const fixAddress = "correct the address, or vendor what it names"

// parseURL reads an address with one of the given schemes. The error is a
// *RefusedError.
func parseURL(text string, schemes ...string) (*url.URL, host, error) {
	refuse := func(reason, fix string) (*url.URL, host, error) {
		return nil, host{}, &RefusedError{Address: show(text), Reason: reason, Fix: fix}
	}
	if len(text) > maxAddress {
		return refuse("it is longer than 4096 bytes", fixAddress)
	}
	if control(text) {
		return refuse("it has a space or a control character", fixAddress)
	}
	u, err := url.Parse(text) // makes the scheme lower case
	if err != nil {
		return refuse("it is malformed", fixAddress)
	}
	if !slices.Contains(schemes, u.Scheme) {
		return refuse("its scheme is not one of "+strings.Join(schemes, ", "), "use https, or a path inside the repository")
	}
	if u.Opaque != "" {
		return refuse("it has no // before its host", fixAddress)
	}
	h, reason := parseHost(u.Hostname(), u.Port(), u.Scheme)
	if reason != "" {
		return refuse(reason, fixAddress)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, h, nil
}

// control reports whether a text has a space, a control character or an invalid
// byte, which no address needs.
func control(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r >= 0x80 && r <= 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufffd'
	}) >= 0
}

// HostOf returns the host of the address of a file, a Git repository or a chart
// repository, as HOST:PORT: the form of Options.OwnHosts.
func HostOf(address string) (string, bool) {
	if repository, ok := ParseRepository(address); ok && repository.host.name != "" {
		return repository.host.String(), true
	}
	if !strings.Contains(address, "://") {
		address = "oci://" + address
	}
	_, h, err := parseURL(address, "https", "http", "ssh", "oci")
	return h.String(), err == nil
}

// hostList are hosts that the user trusts. An entry without a port stands for every
// port.
type hostList map[host]bool

// newHostList reads entries HOST or HOST:PORT. Others are left out; see
// ValidHost.
func newHostList(lists ...[]string) hostList {
	l := hostList{}
	for _, entries := range lists {
		for _, entry := range entries {
			if h, ok := parseEntry(entry); ok {
				l[h] = true
			}
		}
	}
	return l
}

func (l hostList) has(h host) bool { return l[h] || l[host{name: h.name}] }

// ValidHost reports whether a text is HOST or HOST:PORT, the form of
// Options.AllowHosts.
func ValidHost(entry string) bool {
	_, ok := parseEntry(entry)
	return ok
}

func parseEntry(entry string) (host, bool) {
	name, port := strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]"), ""
	if _, err := netip.ParseAddr(name); err != nil {
		if n, p, err := net.SplitHostPort(entry); err == nil {
			if name, port = n, p; port == "" {
				return host{}, false
			}
		}
	}
	h, reason := parseHost(name, port, "https")
	if port == "" {
		h.port = ""
	}
	return h, reason == ""
}
