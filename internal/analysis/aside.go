package analysis

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// maxAside bounds the files of one folder in which a lacking thing is looked for.
const maxAside = 500

// findAside says which file has a thing that nothing provides: one beside those of the
// component that needs it, or beside its Application, which a kustomization does not name or
// a pattern leaves out. Secrets and what SOPS encrypts are often left out on purpose, and
// applied by hand or by a plugin; what others make Secrets of is not.
func (r *Result) findAside(ctx context.Context, objects map[string][]manifest.Object) {
	if len(r.Missing) == 0 {
		return
	}
	known := map[string]map[finding.Resource]finding.Position{} // by folder
	used := map[string]bool{}
	files := sync.OnceValue(func() kustomized { return r.kustomized(ctx) })
	for _, of := range objects {
		for _, o := range of {
			used[o.Origin.File] = true
		}
	}
	broken := r.broken(objects)
	for i := range r.Missing {
		m := &r.Missing[i]
		if m.Required.Group == "apiextensions.k8s.io" || m.Required.Kind == "Namespace" && r.mayBring(*m) {
			continue
		}
		unplaced := m.Required
		unplaced.Namespace = ""
		folders := map[string]bool{path.Dir(m.Consumer.Position.File): true}
		for _, o := range objects[m.Consumer.Component] {
			folders[path.Dir(o.Origin.File)] = true
		}
		for _, folder := range r.foldersOf(m.Consumer.Component) {
			folders[folder] = true
		}
		for _, folder := range slices.Sorted(maps.Keys(folders)) {
			if known[folder] == nil {
				known[folder] = r.aside(folder, used)
			}
			for _, named := range []finding.Resource{m.Required, unplaced} {
				at, ok := known[folder][named]
				if ok && slices.ContainsFunc(broken, func(dir string) bool { return strings.HasPrefix(at.File, dir+"/") }) {
					m.Doubtful = true // it is applied once the folder can be built
					continue
				}
				if ok && m.Aside.File == "" && !files().patches[at.File] && (named.Kind != "Secret" || !files().resources[at.File]) {
					m.Aside = at
				}
			}
		}
	}
	r.Missing = slices.DeleteFunc(r.Missing, func(m dependency.Missing) bool { return m.Doubtful && !m.Likely() })
	r.findElsewhere(ctx, used, files)
}

// broken are the folders of components that are in the repository and could not be rendered.
func (r *Result) broken(objects map[string][]manifest.Object) []string {
	var all []string
	for _, c := range r.Platform.Components {
		if _, rendered := objects[c.Name]; rendered || !c.Enabled {
			continue
		}
		for _, s := range c.Sources {
			if s.Path != "" && s.Path != "." && s.RepoURL == "" {
				all = append(all, s.Path)
			}
		}
	}
	return all
}

// findElsewhere says which file away from a component has a claim or a Namespace that nothing
// provides: people apply these by hand.
func (r *Result) findElsewhere(ctx context.Context, used map[string]bool, files func() kustomized) {
	lacking := func(m dependency.Missing) bool {
		return (m.Required.Kind == "PersistentVolumeClaim" || m.Required.Kind == "Namespace") && m.Aside.File == ""
	}
	if !slices.ContainsFunc(r.Missing, lacking) {
		return
	}
	found, err := r.tree.Find(ctx, ".", func(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" })
	if err != nil {
		return // the end of ctx
	}
	at := map[finding.Resource]finding.Position{}
	for _, file := range found {
		if used[file] || repofs.IsUnused(file) || files().patches[file] || !concerns(r.tree, file, r.Platform.Environment) {
			continue
		}
		for named, position := range r.written(file) {
			if _, known := at[named]; !known {
				at[named] = position
			}
		}
	}
	for i := range r.Missing {
		if m := &r.Missing[i]; lacking(*m) {
			m.Elsewhere = at[m.Required]
		}
	}
}

// mayBring reports whether the component that a Namespace is missing in takes manifests from
// elsewhere as well, which may have it.
func (r *Result) mayBring(m dependency.Missing) bool {
	return slices.Contains(m.Unrendered, m.Consumer.Component) && slices.ContainsFunc(r.Unrendered, func(e *render.Error) bool {
		return e.Component == m.Consumer.Component && e.Missing.RepoURL != "" && e.Missing.Kind != model.Chart
	})
}

// foldersOf are the folders that the sources of a component are.
func (r *Result) foldersOf(component string) []string {
	var all []string
	for _, c := range r.Platform.Components {
		for _, s := range c.Sources {
			if c.Name == component && s.RepoURL == "" && s.Kind == model.Kustomize {
				all = append(all, s.Path)
			}
		}
	}
	return all
}

// kustomized are the files that kustomizations of the repository name: those that they patch
// with are no manifests.
type kustomized struct{ patches, resources map[string]bool }

func (r *Result) kustomized(ctx context.Context) kustomized {
	found := kustomized{map[string]bool{}, map[string]bool{}}
	files, err := r.tree.Find(ctx, ".", model.IsKustomizationFile)
	if err != nil {
		return found
	}
	for _, file := range files {
		data, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		v, err := yamldoc.ParseKustomization(file, data)
		if err != nil {
			continue
		}
		for _, key := range []string{"patches", "patchesJson6902", "patchesStrategicMerge"} {
			for _, item := range v.At(key).Elements() {
				found.patches[path.Join(path.Dir(file), item.TextAt("path"))] = true
				found.patches[path.Join(path.Dir(file), item.Text)] = true
			}
		}
		for _, item := range v.At("resources").Elements() {
			found.resources[path.Join(path.Dir(file), item.Text)] = true
		}
	}
	return found
}

// aside are the objects in the files of a folder that nothing applies.
func (r *Result) aside(folder string, used map[string]bool) map[finding.Resource]finding.Position {
	found := map[finding.Resource]finding.Position{}
	names, err := r.tree.List(folder)
	if err != nil {
		return found
	}
	var files []string
	for _, name := range names {
		if file := path.Join(folder, name); !used[file] && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	for _, file := range files[:min(len(files), maxAside)] {
		for named, at := range r.written(file) {
			if _, ok := found[named]; !ok {
				found[named] = at
			}
		}
	}
	return found
}

// written are the objects in a file as they stand there, Secrets by what others make them of.
func (r *Result) written(file string) map[finding.Resource]finding.Position {
	found := map[finding.Resource]finding.Position{}
	note := func(named finding.Resource, at finding.Position) {
		if _, ok := found[named]; !ok {
			found[named] = at
		}
	}
	data, err := r.tree.Read(file)
	if err != nil || strings.Contains(string(data), "{{") {
		return found
	}
	documents, err := yamldoc.Parse(file, data)
	if err != nil {
		return found
	}
	for _, d := range documents {
		group, _, grouped := strings.Cut(d.TextAt("apiVersion"), "/")
		if !grouped {
			group = ""
		}
		named := finding.Resource{Group: group, Kind: d.TextAt("kind"), Namespace: d.TextAt("metadata", "namespace"), Name: d.TextAt("metadata", "name")}
		switch {
		case named.Group == "external-secrets.io" && named.Kind == "ExternalSecret", named.Group == "bitnami.com" && named.Kind == "SealedSecret":
			note(finding.Resource{Kind: "Secret", Namespace: named.Namespace, Name: cmp.Or(d.TextAt("spec", "target", "name"), named.Name)}, d.Position)
		case named.Kind != "" && named.Kind != "Secret" && named.Name != "" && d.At("sops") == nil:
			note(named, d.Position)
		}
	}
	return found
}
