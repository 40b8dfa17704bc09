package fetch

import "net/netip"

// network says what an IP address belongs to.
type network int

const (
	// forbidden addresses are never asked: link-local, multicast, metadata
	// services of clouds, and whatever is not listed below.
	forbidden network = iota
	// private addresses are asked for hosts that the user trusts.
	private
	// public addresses are asked for every host.
	public
)

// Sources: the IANA special-purpose address registries; the metadata addresses of
// AWS, Azure, GCP, Alibaba and Oracle.
var (
	metadata = prefixes("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/64")
	inside   = prefixes("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15", "::1/128", "fc00::/7")
	special  = prefixes("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
	global   = prefixes("0.0.0.0/0", "2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
	embedded = 12 // where the IPv4 address begins in one of nat64
)

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, t := range texts {
		list = append(list, netip.MustParsePrefix(t))
	}
	return list
}

// classify decides what an IP address belongs to.
func classify(ip netip.Addr) network {
	ip = ip.Unmap()
	if ip.Zone() != "" {
		return forbidden
	}
	if nat64.Contains(ip) {
		all := ip.As16()
		four, _ := netip.AddrFromSlice(all[embedded:])
		return classify(four)
	}
	switch {
	case contains(metadata, ip):
		return forbidden
	case contains(inside, ip):
		return private
	case contains(special, ip) || !contains(global, ip):
		return forbidden
	default:
		return public
	}
}

func contains(list []netip.Prefix, ip netip.Addr) bool {
	for _, p := range list {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}
