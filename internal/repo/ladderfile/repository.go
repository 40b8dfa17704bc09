package ladderfile

import (
	"bytes"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Repository is what the file says of the repository itself.
type Repository struct {
	// Aliases are addresses of this repository.
	Aliases []string
	// Roots are the files and folders that are applied by hand, relative to the
	// root of the platform; empty to find them.
	Roots []string
	// Snapshot is a file of ladder snapshot; its path is empty for none.
	Snapshot Pattern
	// Generators are what generators of ApplicationSets learn elsewhere.
	Generators appset.Data
}

// SnapshotMark begins every file of ladder snapshot.
const SnapshotMark = "# written by ladder snapshot: what Argo CD knows, without secrets\n"

// IsSnapshot reports whether the content of a file is a snapshot. Its objects are in
// a cluster already, and none of the repository's.
func IsSnapshot(content []byte) bool { return bytes.HasPrefix(content, []byte(SnapshotMark)) }

func (d *decoder) repository(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	d.file.Repository.Aliases = f.Strings("aliases")
	d.file.Repository.Roots = f.Strings("roots")
	if file := f.Text("snapshot"); file != "" {
		d.file.Repository.Snapshot = Pattern{Path: file, Position: f.Value.At("snapshot").Position}
	}
	d.unknown(f)
}

// suppliedGenerators are the sections of generators with the generators of
// ApplicationSets they stand for.
func suppliedGenerators() [][2]string {
	return [][2]string{
		{"pullRequests", "pullRequest"}, {"scmProvider", "scmProvider"}, {"plugin", "plugin"},
		{"clusterDecisionResource", "clusterDecisionResource"},
	}
}

// generators reads what generators cannot learn from the repository: clusters
// with their labels, and sets of parameters.
func (d *decoder) generators(f *yamldoc.Fields) {
	if f == nil {
		return
	}
	data := &d.file.Repository.Generators
	for _, m := range f.Maps("clusters") {
		c := appset.Cluster{
			Name: m.Text("name"), Server: m.Text("server"), Project: m.Text("project"),
			Labels: m.TextMap("labels"), Annotations: m.TextMap("annotations"),
		}
		d.unknown(m)
		if c.Name == "" {
			d.problems.Add(m.Path, m.Value.Position, "add name, and server where it is not the cluster of Argo CD", "%s has no name", m.Path)
			continue
		}
		if c.Server == "" {
			c.Server = "https://" + c.Name
		}
		data.Clusters = append(data.Clusters, c)
	}
	for _, names := range suppliedGenerators() {
		for _, m := range f.Maps(names[0]) {
			given := appset.Parameters{ApplicationSet: m.Text("applicationSet"), Position: m.Value.Position}
			if values := m.Map("parameters"); values != nil {
				given.Values, _ = values.Value.Any().(map[string]any)
			}
			d.unknown(m)
			if len(given.Values) == 0 {
				d.problems.Add(m.Path, m.Value.Position, "write what the generator makes: parameters: {number: \"12\"}", "%s has no parameters", m.Path)
				continue
			}
			if data.Parameters == nil {
				data.Parameters = map[string][]appset.Parameters{}
			}
			data.Parameters[names[1]] = append(data.Parameters[names[1]], given)
		}
	}
	d.unknown(f)
}
