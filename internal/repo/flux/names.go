package flux

import (
	"strconv"
	"strings"
)

// names are the components of Kustomizations and HelmReleases, which have the same
// names in all clusters.
type names struct {
	// namespaces are those that have a name, by kind and name.
	namespaces map[string]map[string]bool
	// taken are the names of components and what has them, of what has the names.
	taken, of map[string]string
}

// newNames gives names, first to Kustomizations: dependsOn means them most.
func newNames(clusters []Cluster) *names {
	n := &names{namespaces: map[string]map[string]bool{}, taken: map[string]string{}, of: map[string]string{}}
	each := func(visit func(id, kind, namespace, name, remote string)) {
		for _, kind := range []string{"Kustomization", "HelmRelease"} {
			for i := range clusters {
				c := &clusters[i]
				if kind == "HelmRelease" {
					for j := range c.Releases {
						r := &c.Releases[j]
						visit(r.key(), kind, r.Namespace, r.Name, r.Remote)
					}
					continue
				}
				for j := range c.Kustomizations {
					k := &c.Kustomizations[j]
					visit(key(kind, k.Namespace, k.Name), kind, k.Namespace, k.Name, "")
				}
			}
		}
	}
	each(func(_, kind, namespace, name, _ string) {
		id := kind + "/" + name
		if n.namespaces[id] == nil {
			n.namespaces[id] = map[string]bool{}
		}
		n.namespaces[id][namespace] = true
	})
	each(n.add)
	return n
}

// add names something, a HelmRelease in another cluster by that where its name is taken.
func (n *names) add(id, kind, namespace, name, remote string) {
	if n.of[id] != "" {
		return
	}
	wanted := name
	if len(n.namespaces[kind+"/"+name]) > 1 {
		wanted = namespace + "-" + name
	}
	switch {
	case n.taken[wanted] == "":
	case remote != "" && strings.HasPrefix(n.taken[wanted], kind+"/"):
		wanted += "-" + strings.TrimSuffix(remote, "-kubeconfig")
	default:
		wanted += "-" + map[string]string{"Kustomization": "kustomization", "HelmRelease": "release"}[kind]
	}
	unique := wanted
	for i := 2; n.taken[unique] != ""; i++ {
		unique = wanted + "-" + strconv.Itoa(i)
	}
	n.taken[unique], n.of[id] = id, unique
}

// kustomization is the component of a Kustomization, release that of a HelmRelease.
func (n *names) kustomization(k *Kustomization) string {
	return n.of[key("Kustomization", k.Namespace, k.Name)]
}

func (n *names) release(r *Release) string { return n.of[r.key()] }

// fewNames is how many names a sentence lists.
const fewNames = 5

func few(names []string) string {
	if len(names) <= fewNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:fewNames], ", ") + " and " + strconv.Itoa(len(names)-fewNames) + " more"
}
