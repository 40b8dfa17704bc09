package argocd

import (
	"cmp"
	"path"
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
// whatever its name. What another tool fills in is taken to be that one, unless it is a
// blank beside Applications that name that one: then it is another.
func (r *Repository) clusterOf(d document) string {
	to := destination(d)
	switch {
	case to == inCluster:
		return ""
	case hasPlaceholder(to):
		if blank.MatchString(to) && r.besideInCluster(d) {
			return to
		}
		return ""
	}
	for _, c := range r.named() {
		if c.Name == to && c.Server == inClusterServer {
			return ""
		}
	}
	return to
}

// besideInCluster reports whether an Application in the folder of another says that it is
// for the cluster that Argo CD runs in.
func (r *Repository) besideInCluster(d document) bool {
	if r.inClusterBeside == nil {
		r.inClusterBeside = map[string]bool{}
		for _, app := range r.applications {
			if app.value.At("spec", "destination") != nil && destination(app) == inCluster {
				r.inClusterBeside[path.Dir(app.position().File)] = true
			}
		}
	}
	return r.inClusterBeside[path.Dir(d.position().File)]
}

// The cluster that Argo CD runs in.
const (
	inCluster       = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)
