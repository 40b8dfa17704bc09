package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// misplacedWave finds files that have sync waves, some perhaps beside the
// annotations.
var misplacedWave = lazyregexp.New(`argocd\.argoproj\.io/sync-wave["']?:`)

// findMisplaced notes the sync waves that are fields of metadata.
func (r *Repository) findMisplaced(documents []document) {
	for _, d := range documents {
		note := func(template bool, keys ...string) {
			e, ok := d.value.At(keys...).Get(waveAnnotation)
			if !ok {
				return
			}
			r.misplaced = append(r.misplaced, argo.Misplaced{Object: resource(d), Template: template, Position: e.Position})
		}
		note(false, "metadata")
		if d.argo("ApplicationSet") {
			note(true, "spec", "template", "metadata")
		}
	}
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
