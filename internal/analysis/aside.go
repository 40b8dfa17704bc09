package analysis

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// maxAside bounds the files beside those that are applied in which a lacking thing is
// looked for.
const maxAside = 2_000

// findAside says of things that nothing provides which file beside those that are applied
// has them: a kustomization does not name it, or a pattern leaves it out. Secrets and what
// SOPS encrypts are often left out on purpose, and applied by hand or by a plugin.
func (r *Result) findAside(objects map[string][]manifest.Object) {
	if len(r.Missing) == 0 {
		return
	}
	var aside map[finding.Resource]finding.Position
	for i := range r.Missing {
		m := &r.Missing[i]
		if m.Required.Group != "" && strings.HasPrefix(m.Required.Group, "apiextensions.") || m.Required.Kind == "Secret" {
			continue
		}
		if aside == nil {
			aside = r.aside(objects)
		}
		at, ok := aside[m.Required]
		if !ok {
			unplaced := m.Required
			unplaced.Namespace = ""
			at, ok = aside[unplaced]
		}
		if ok {
			m.Aside = at
		}
	}
}

// aside are the objects in files that nothing applies, of folders of which something is
// applied.
func (r *Result) aside(objects map[string][]manifest.Object) map[finding.Resource]finding.Position {
	used, folders := map[string]bool{}, map[string]bool{}
	for _, of := range objects {
		for _, o := range of {
			used[o.Origin.File] = true
			folders[path.Dir(o.Origin.File)] = true
		}
	}
	for i := range r.Missing {
		used[r.Missing[i].Consumer.Position.File] = true
	}
	found := map[finding.Resource]finding.Position{}
	var files []string
	for folder := range folders {
		names, err := r.tree.List(folder)
		if err != nil {
			continue
		}
		for _, name := range names {
			if file := path.Join(folder, name); !used[file] && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	for _, file := range files[:min(len(files), maxAside)] {
		data, err := r.tree.Read(file)
		if err != nil || strings.Contains(string(data), "{{") {
			continue
		}
		documents, err := yamldoc.Parse(file, data)
		if err != nil {
			continue
		}
		for _, d := range documents {
			group, _, grouped := strings.Cut(d.TextAt("apiVersion"), "/")
			if !grouped {
				group = ""
			}
			named := finding.Resource{Group: group, Kind: d.TextAt("kind"), Namespace: d.TextAt("metadata", "namespace"), Name: d.TextAt("metadata", "name")}
			if _, ok := found[named]; !ok && named.Kind != "" && named.Name != "" && d.At("sops") == nil {
				found[named] = d.Position
			}
		}
	}
	return found
}
