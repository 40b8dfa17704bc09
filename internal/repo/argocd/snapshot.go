package argocd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// maxSnapshot bounds a snapshot, in bytes.
const maxSnapshot = 64 << 20

// readSnapshot reads the settings and the clusters of a cluster's Argo CD, which then
// are not assumed. The clusters of the ladder file come before those of the snapshot.
func (r *Repository) readSnapshot() error {
	data, name := r.opts.Known, r.opts.KnownOf
	if data == nil {
		if r.opts.Snapshot == "" {
			return nil
		}
		var err error
		if data, err = r.snapshotFile(); err != nil {
			return err
		}
		name = r.opts.Snapshot
	}
	// What people write comes last, and is not needed.
	data, _, _ = bytes.Cut(data, []byte("\n---\napiVersion: argoproj.io/"))
	values, err := yamldoc.Parse(name, data)
	if err != nil {
		return err
	}
	isCluster := func(v *yamldoc.Value) bool { return v.TextAt("kind") == "Secret" }
	r.installation.Snapshot(slices.DeleteFunc(slices.Clone(values), isCluster))
	if len(r.opts.Data.Clusters) > 0 {
		return nil
	}
	// Generators add the cluster of Argo CD by themselves. It has no labels where no
	// Secret gives it any, so no selector finds it.
	known := []appset.Cluster{{Name: inCluster, Server: inClusterServer, Elsewhere: true}}
	for _, v := range values {
		if !isCluster(v) {
			continue
		}
		server := v.TextAt("stringData", "server")
		known = append(known, appset.Cluster{
			Name: cmp.Or(v.TextAt("stringData", "name"), server), Server: server,
			Labels: texts(v.At("metadata", "labels")), Annotations: texts(v.At("metadata", "annotations")), Position: v.Position,
		})
	}
	r.opts.Data.Clusters = known
	return nil
}

// snapshotFile reads the file that the ladder file names.
func (r *Repository) snapshotFile() ([]byte, error) {
	file, err := r.tree.Resolve(r.opts.Snapshot, r.opts.SnapshotAt)
	if err != nil {
		return nil, err
	}
	data, err := repofs.ReadRegular(file, maxSnapshot)
	if err != nil {
		return nil, r.noSnapshot(err)
	}
	if !ladderfile.IsSnapshot(data) {
		return nil, r.noSnapshot(errors.New("ladder snapshot did not write it"))
	}
	return data, nil
}

// noSnapshot says why the file of the snapshot is none.
func (r *Repository) noSnapshot(why error) error {
	if path := (*fs.PathError)(nil); errors.As(why, &path) {
		why = path.Err
	}
	return &repofs.InputError{
		Position: r.opts.SnapshotAt, Message: fmt.Sprintf("%s is no snapshot: %v", r.opts.Snapshot, why),
		Hint: "ladder snapshot --context CONTEXT --output " + r.opts.Snapshot + " writes one", Err: why,
	}
}
