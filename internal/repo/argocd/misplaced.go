package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// misplacedWave finds files that have sync waves, some perhaps beside the annotations or
// misspelt.
var misplacedWave = lazyregexp.New(`argo[a-z.-]*/(?:sync[-_]?[wW][a-z]*|wave)["']?\s*:`)

// findMisplaced notes the sync waves that are fields of metadata, labels, or annotations
// of nearly that name.
func (r *Repository) findMisplaced(documents []document) {
	for _, d := range documents {
		r.misplacedIn(d, false, "metadata")
		if d.argo("ApplicationSet") {
			r.misplacedIn(d, true, "spec", "template", "metadata")
		}
	}
}

// misplacedIn notes those of the metadata at a path.
func (r *Repository) misplacedIn(d document, template bool, path ...string) {
	metadata := d.value.At(path...)
	note := func(at finding.Position, in, key string) {
		r.misplaced = append(r.misplaced, argo.Misplaced{Object: resource(d), Template: template, In: in, Key: key, Position: at})
	}
	if e, ok := metadata.Get(waveAnnotation); ok {
		note(e.Position, "", waveAnnotation)
	}
	annotations := metadata.At("annotations")
	if annotations.At(waveAnnotation) != nil {
		return // which counts
	}
	if e, ok := metadata.At("labels").Get(waveAnnotation); ok {
		note(e.Position, "labels", waveAnnotation)
	}
	if annotations == nil {
		return
	}
	for _, e := range annotations.Entries {
		if meansWave(e.Key) {
			note(e.Position, "annotations", e.Key)
		}
	}
}

// isOrdering reports whether a label may order something: RollingSync goes by labels of any
// name, of Applications.
func (r *Repository) isOrdering(m argo.Misplaced) bool {
	return m.In == "labels" && m.Object.Group == "argoproj.io" && slices.ContainsFunc(r.sets, func(d document) bool { return d.value.At("spec", "strategy") != nil })
}

// isApplied reports whether an environment has the object, where that is an Application or an
// ApplicationSet: a file that nothing applies orders nothing, however it is written.
func isApplied(s argo.Setup, m argo.Misplaced) bool {
	if m.Object.Group != "argoproj.io" {
		return true
	}
	switch m.Object.Kind {
	case "Application":
		return slices.ContainsFunc(s.Applications, func(a argo.Application) bool {
			return a.Name == m.Object.Name && a.Position.File == m.Position.File
		})
	case "ApplicationSet":
		return slices.ContainsFunc(s.ApplicationSets, func(a argo.ApplicationSet) bool {
			return a.Name == m.Object.Name && a.Position.File == m.Position.File
		})
	}
	return true
}

// meansWave reports whether a key can only mean the annotation of sync waves, and is not
// its name.
func meansWave(key string) bool {
	if len(key) > 2*len(waveAnnotation) {
		return false
	}
	domain, name, ok := strings.Cut(strings.ToLower(key), "/")
	ownDomain, ownName, _ := strings.Cut(waveAnnotation, "/")
	if !ok || key == waveAnnotation || yamldoc.Distance(domain, ownDomain) > 2 && domain != "argoproj.io" {
		return false
	}
	return name == "wave" || yamldoc.Distance(strings.ReplaceAll(name, "_", "-"), ownName) <= 1
}

// resource names an object.
func resource(d document) finding.Resource {
	group, _, ok := strings.Cut(d.value.TextAt("apiVersion"), "/")
	if !ok {
		group = ""
	}
	return finding.Resource{Group: group, Kind: d.kind(), Namespace: d.value.TextAt("metadata", "namespace"), Name: d.name()}
}

// holds reports whether one of the sources of a component is, or contains, a
// file.
func holds(c model.Component, file string) bool {
	return slices.ContainsFunc(c.Sources, func(s model.Source) bool {
		return s.Path != "" && (s.Path == file || s.Path == "." || strings.HasPrefix(file, s.Path+"/"))
	})
}
