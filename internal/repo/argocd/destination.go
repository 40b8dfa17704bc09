package argocd

import (
	"cmp"
	"strings"
)

// destination names the cluster of an Application.
func destination(d document) string {
	if name := d.value.TextAt("spec", "destination", "name"); name != "" {
		return name
	}
	server := d.value.TextAt("spec", "destination", "server")
	if server == "" || strings.TrimSuffix(server, "/") == inClusterServer {
		return inCluster
	}
	_, host, ok := strings.Cut(server, "://")
	return cmp.Or(strings.TrimSuffix(host, "/"), map[bool]string{false: server}[ok])
}

// clusterOf is the cluster of a component; empty for the one that Argo CD runs in,
// whatever its name.
func (r *Repository) clusterOf(d document) string {
	to := destination(d)
	if to == inCluster || hasPlaceholder(to) {
		return ""
	}
	for _, c := range r.named() {
		if c.Name == to && c.Server == inClusterServer {
			return ""
		}
	}
	return to
}

// The cluster that Argo CD runs in.
const (
	inCluster       = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)
