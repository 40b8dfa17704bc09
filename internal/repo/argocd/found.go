package argocd

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// Found is a cluster that the repository tells of, as far as it was read.
type Found struct {
	appset.Cluster
	// Why says what the cluster is taken from, each assumption by itself.
	Why []string
}

// Found lists the clusters that were found, where the ladder file names none. What the
// sets of environments ask of them is known once these are read.
func (r *Repository) Found() []Found {
	var all []Found
	for _, c := range r.clusters.all {
		all = append(all, Found{Cluster: c.Cluster.Cluster, Why: c.assumptions()})
	}
	return all
}

// Any reports whether a file of the repository has an Application or ApplicationSet.
func (r *Repository) Any() bool { return len(r.files) > 0 }

// Clusters are those of which all is known: the ladder file names them, or the
// repository does.
func (r *Repository) Clusters() []appset.Cluster {
	if len(r.opts.Data.Clusters) > 0 {
		return slices.DeleteFunc(slices.Clone(r.opts.Data.Clusters), func(c appset.Cluster) bool { return c.Elsewhere })
	}
	var all []appset.Cluster
	for _, c := range r.clusters.all {
		if len(c.Unknown()) == 0 && !c.OpenLabels && !c.OpenAnnotations {
			all = append(all, c.Cluster.Cluster)
		}
	}
	return all
}

// Taken are the addresses that are taken to be this repository's.
func (r *Repository) Taken() []string { return slices.Clone(r.clusters.addresses) }
