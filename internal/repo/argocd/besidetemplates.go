package argocd

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// besideTemplates tells of manifests that lie beside the Chart.yaml of a chart: Helm renders
// the folders templates and crds alone. A template that reads files of the chart may take them.
func (r *Repository) besideTemplates(ctx context.Context, c model.Component, d document, to model.Source) []finding.Finding {
	if to.Kind != model.Chart || to.Path == "" || !r.readsHead(d, to) || r.isKustomization(to.Path) {
		return nil
	}
	var left []laidManifest
	for _, file := range r.under(to.Path) {
		rel, inside := belowFolder(to.Path, file)
		if !inside {
			continue
		}
		if strings.HasPrefix(rel, "templates/") {
			if data, err := r.tree.Read(file); err != nil || bytes.Contains(data, []byte(".Files")) {
				return nil
			}
		}
		if strings.Contains(rel, "/") || !isManifestEnding(path.Ext(file)) || hidden(rel) || r.isHanded(ctx, file) || r.files[file] != nil {
			continue
		}
		left = append(left, r.layOf(file).manifests...)
	}
	if len(left) == 0 {
		return nil
	}
	f := newFinding(RuleNothing, finding.Info, to.Position, c.Name,
		"Helm renders the templates of the chart %s alone: %s beside its Chart.yaml %s not applied", to.Path, finding.Count(len(left), "manifest"), map[bool]string{true: "is", false: "are"}[len(left) == 1])
	for _, m := range left[:min(len(left), shownLeftOut)] {
		f.Evidence = append(f.Evidence, finding.Evidence{Text: m.name + " is not applied", File: m.at.File, Line: m.at.Line})
	}
	f.Fix.Summary = "move what is meant to be applied into templates"
	return []finding.Finding{f}
}
