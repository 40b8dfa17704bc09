package argocd

import (
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// others adds the component of what a parent applies next to its Applications.
// Its place is that of the first of these objects.
func (w *walk) others(parent document, y contents, own place) {
	r := w.repository
	first, count := 0, 0
	for _, d := range y.documents {
		// A kustomization and its like are no objects of a cluster.
		if d.name() == "" || d.isArgo() || r.isGeneratedSetting(d) {
			continue
		}
		if wave := r.wave(d); count == 0 || wave < first {
			first = wave
		}
		count++
	}
	if y.more {
		first = min(first, 0) // what is not read here stands at Argo CD's default
	}
	switch {
	case count == 0 && !y.more:
		return
	case parent.value == nil:
		w.beside(y, &first)
		return
	}
	at := own.below(parent.name(), first)
	c := w.component(parent, at)
	c.AppOfApps = true
	index := slices.IndexFunc(w.setup.Applications, func(a argo.Application) bool {
		return a.Name == parent.name() && a.Position == parent.position()
	})
	w.add(c, destination(parent), index)
}

// isGeneratedSetting reports whether ladder generate wrote an object as a setting of Argo CD beside
// its Applications: it is of no component.
func (r *Repository) isGeneratedSetting(d document) bool {
	if !slices.Contains([]string{"argocd-cm", "argocd-cmd-params-cm"}, d.name()) {
		return false
	}
	data, err := r.tree.Read(d.position().File)
	return err == nil && ladderfile.IsGenerated(data)
}

// beside adds the component of what an overlay that nothing in the repository
// applies holds next to its Applications: it has the name of the folder. first is
// its sync wave, nil where nothing orders what the overlay holds.
func (w *walk) beside(y contents, first *int) {
	r := w.repository
	if !y.more && !slices.ContainsFunc(y.documents, func(d document) bool { return d.name() != "" && !d.isArgo() }) {
		return
	}
	at := finding.Position{File: kustomizationFile(r.tree, y.overlay), Line: 1}
	src := model.Source{Kind: model.Kustomize, Path: y.overlay}
	if at.File == "" {
		src.Kind = model.Manifests
		for _, d := range slices.Backward(y.documents) {
			at = finding.Position{File: d.position().File, Line: 1}
		}
	}
	src.Position = at
	name := path.Base(y.overlay)
	if y.overlay == "." {
		name = w.environment.Name
	}
	c := model.Component{
		Name: name, Environment: w.environment.Name, Project: "default", Namespace: "default", Phase: model.NoPhase,
		Type: model.Runtime, Enabled: true, Object: true, AppOfApps: true, Sources: []model.Source{src}, Position: at, Fields: map[string]finding.Position{},
	}
	if first != nil {
		p := place{}.below("", *first)
		c.Waves, c.Parents = p.waves, p.parents
	}
	w.objects = append(w.objects, c)
}

// namespacesIn are the Namespaces in the files of components that nothing applies.
func (r *Repository) namespacesIn(components []model.Component) (names []string) {
	files := map[string]bool{}
	for _, c := range components {
		file := c.Position.File
		if len(c.Parents) > 0 || files[file] || r.files[file] == nil {
			continue
		}
		files[file] = true
		data, err := r.tree.Read(file)
		if err != nil {
			continue
		}
		documents, err := yamldoc.ParseLast(file, data)
		if err != nil {
			continue
		}
		for _, d := range documents {
			if name := d.TextAt("metadata", "name"); d.TextAt("kind") == "Namespace" && d.TextAt("apiVersion") == "v1" && namespaceName.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	return names
}
